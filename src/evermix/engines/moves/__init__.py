"""Changes of the set of clusters, beyond births: dropping and joining."""

"""Changes of the set of clusters: births and deletes, merges, dropping and joining."""

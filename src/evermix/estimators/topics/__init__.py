"""The estimator TopicModel."""

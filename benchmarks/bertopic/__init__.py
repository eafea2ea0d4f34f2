"""Clusterers in the online pipeline of BERTopic: time per batch, topics, coherence."""

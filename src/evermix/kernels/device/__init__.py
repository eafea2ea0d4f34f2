"""Loops on CUDA devices."""

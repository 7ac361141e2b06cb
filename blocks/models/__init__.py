"""Blocks that run a model through the model manager."""

"""Object detection models."""

"""Multi-label classification models."""

"""Single-label classification models."""

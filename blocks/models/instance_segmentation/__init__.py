"""Instance segmentation models."""

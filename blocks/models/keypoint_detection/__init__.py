"""Keypoint detection models."""

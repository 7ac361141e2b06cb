"""Losses of the native detector."""

"""Kinds of data and the codecs that read, write and look into them."""

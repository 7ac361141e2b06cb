"""Folders of model packages: what is in them, adding, checking and removing. The command line is
elsewhere.
"""

"""Exit codes of the command line. Imports nothing: the entry point loads it before its checks."""

OK, PROBLEM, USAGE = 0, 1, 2
"""All went well; a problem was found; the command was called wrongly."""

INTERRUPTED = 130
"""The user ended the command, as shells count it."""

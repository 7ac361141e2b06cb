"""Lock files: what a workflow ran with, written down, and the check that it still does."""

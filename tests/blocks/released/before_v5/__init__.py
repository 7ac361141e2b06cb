"""Workflow files as users had them before version 5 of the instance segmentation block, and what
they gave then."""

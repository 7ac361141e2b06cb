"""Going over to newer versions of blocks: what they change, and rewriting a workflow for them."""

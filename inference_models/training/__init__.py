"""Training of the native detector: data, losses, optimiser, loop. Needs the extra `train`; nothing
outside this package may import it at module level."""

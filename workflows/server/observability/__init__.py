"""What the server tells about itself: log lines, metrics, traces. Decides nothing."""

"""The HTTP server. Needs the extra `server`; nothing outside this package imports it at start."""

"""Models of weftlens: packages, backends, families, one manager. Importing it loads none of them."""

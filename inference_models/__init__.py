"""Models of weftlens: packages, backends, families, manager. Importing it loads none of them."""

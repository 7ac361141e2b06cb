"""Block library of weftlens: versioned blocks, one folder a family. Importing it loads no block."""

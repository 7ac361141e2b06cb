"""The routes, one module a subject. What they do beyond reading and answering lies elsewhere."""

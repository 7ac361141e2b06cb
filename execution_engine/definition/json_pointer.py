"""Parts of JSON pointers (RFC 6901), which say where in a document something is. Reads none."""

from __future__ import annotations


def pointer_part(part: str | int) -> str:
    """A member name or position as one part of a JSON pointer."""
    return str(part).replace("~", "~0").replace("/", "~1")

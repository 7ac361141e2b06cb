"""Text as OpenCV takes it. Draws nothing."""

from __future__ import annotations


def drawable_text(text: str) -> str:
    """The text with `?` in place of lone surrogates: OpenCV ends the process on them, and JSON
    text such as `"\\ud800"` brings them in.
    """
    return text.encode("utf-8", "replace").decode("utf-8")

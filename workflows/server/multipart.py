"""Reads one file out of a multipart/form-data body. Fields that are no files are left alone."""

from __future__ import annotations

from email.message import Message

from workflows.server.faults import InvalidRequestError

_MOST_PARTS = 32
_LONGEST_BOUNDARY = 70


def first_file(content: bytes, content_type: str) -> bytes:
    """The bytes of the first part that is a file.

    Args:
        content: the whole body.
        content_type: its `Content-Type`, which names the boundary.

    Raises:
        InvalidRequestError: the body is cut off, has no file, or is no form.
    """
    boundary = _parameter(content_type, "boundary")
    if not boundary or len(boundary) > _LONGEST_BOUNDARY or not boundary.isascii():
        raise InvalidRequestError("The form has no valid boundary in its Content-Type.")
    mark = b"--" + boundary.encode("ascii")
    parts = (b"\r\n" + content).split(b"\r\n" + mark, _MOST_PARTS + 1)
    if len(parts) > _MOST_PARTS + 1:
        raise InvalidRequestError(f"The form has more than {_MOST_PARTS} parts.")
    if len(parts) < 3 or not parts[-1].startswith(b"--"):
        raise InvalidRequestError("The form is cut off: its last boundary is missing.")
    for part in parts[1:-1]:
        head, separator, body = part.partition(b"\r\n\r\n")
        if not separator:
            raise InvalidRequestError("A part of the form has no end of its headers.")
        if _parameter(_disposition(head), "filename") is not None:
            return body
    raise InvalidRequestError("The form has no file; send the image as one.")


def _disposition(head: bytes) -> str:
    for line in head.decode("utf-8", "replace").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-disposition":
            return value.strip()
    return ""


def _parameter(header: str, name: str) -> str | None:
    message = Message()
    message["content-type"] = header
    value = message.get_param(name)
    return value if isinstance(value, str) else None

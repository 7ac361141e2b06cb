"""The file of API keys: reading, adding, revoking. Holds hashes, never keys; what a key permits is
decided in `keys`.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from execution_engine.errors import WorkflowEnvironmentConfigurationError
from workflows.files import write_whole
from workflows.server.security.keys import ApiKey, KeyRing

_FORMAT = 1
_OWNER_ONLY = 0o600
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_CONTEXT = "server | api_keys"


def read_keys(path: Path) -> list[ApiKey]:
    """The keys of a file, in the order they were made.

    Raises:
        WorkflowEnvironmentConfigurationError: the file is missing, damaged, or others than its
            owner may write to it.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read()
    except OSError as error:
        raise _fault(path, f"cannot be read: {error.strerror or error}", error) from error
    if mode & _WRITABLE_BY_OTHERS:
        raise _fault(path, "may be written by others than its owner; use chmod 600")
    try:
        document = json.loads(content)
        if document["format"] != _FORMAT:
            raise ValueError(f"format {document['format']!r}, expected {_FORMAT}")
        keys = [_key_of(entry) for entry in document["keys"]]
        if len({key.id for key in keys}) != len(keys):
            raise ValueError("two keys have one id")
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise _fault(path, f"is no file of API keys: {reason}", error) from error
    return keys


def add_key(path: Path, key: ApiKey) -> None:
    """Adds a key; makes the file when there is none. Only its owner may read it.

    Raises:
        WorkflowEnvironmentConfigurationError: the file cannot be read or written.
    """
    _change(path, lambda keys: [*keys, key], create=True)


def revoke_key(path: Path, key_id: str) -> ApiKey:
    """Withdraws a key and gives its record as it is then; a running server refuses it from the next
    look at the file on.

    Raises:
        WorkflowEnvironmentConfigurationError: no such key, or the file cannot be read or written.
    """
    revoked: list[ApiKey] = []

    def change(keys: Sequence[ApiKey]) -> list[ApiKey]:
        result = [replace(key, revoked=True) if key.id == key_id else key for key in keys]
        revoked.extend(key for key in result if key.id == key_id)
        if not revoked:
            raise _fault(path, f"has no key with the id '{key_id}'")
        return result

    _change(path, change, create=False)
    return revoked[0]


class KeyFile:
    """The keys of a file that may change while the server runs.

    Safe to use from several threads. A file that cannot be read any more lets nobody in.

    Args:
        path: the file.

    Raises:
        WorkflowEnvironmentConfigurationError: as `read_keys`.
    """

    __slots__ = ("_lock", "_ring", "_seen", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._ring = KeyRing(())
        self.ring()

    def ring(self) -> KeyRing:
        """The keys as the file has them now; it is read again only after it changed.

        Raises:
            WorkflowEnvironmentConfigurationError: as `read_keys`.
        """
        with self._lock:
            stamp = self._stamp()
            if stamp is None or stamp != self._seen:
                self._ring = KeyRing(read_keys(self.path))
                self._seen = stamp
            return self._ring

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode


def _change(
    path: Path, change: Callable[[Sequence[ApiKey]], list[ApiKey]], *, create: bool
) -> None:
    try:
        with _locked(path):
            keys = [] if create and not path.exists() else read_keys(path)
            _write(path, change(keys))
    except OSError as error:
        raise _fault(path, f"cannot be written: {error.strerror or error}", error) from error


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keeps a second `weftlens keys` from losing what this one writes."""
    try:
        import fcntl
    except ImportError:  # Windows: the replacement of the file is still one step
        yield
        return
    lock = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, _OWNER_ONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _write(path: Path, keys: Sequence[ApiKey]) -> None:
    document = {"format": _FORMAT, "keys": [_entry_of(key) for key in keys]}
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    write_whole(path, text.encode("utf-8"), _OWNER_ONLY)


def _entry_of(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "salt": base64.b64encode(key.salt).decode("ascii"),
        "digest": base64.b64encode(key.digest).decode("ascii"),
        "created": key.created.isoformat(),
        "expires": None if key.expires is None else key.expires.isoformat(),
        "workflows": list(key.workflows),
        "specifications": key.specifications,
        "revoked": key.revoked,
    }


def _key_of(entry: Any) -> ApiKey:
    workflows = entry["workflows"]
    if not isinstance(workflows, list) or not all(isinstance(one, str) for one in workflows):
        raise ValueError("workflows must be a list of texts")
    for name in ("specifications", "revoked"):
        if not isinstance(entry[name], bool):
            raise ValueError(f"{name} must be true or false")
    expires = entry["expires"]
    return ApiKey(
        id=_text(entry, "id"),
        name=_text(entry, "name"),
        salt=_bytes(entry, "salt"),
        digest=_bytes(entry, "digest"),
        created=_time(entry, "created"),
        expires=None if expires is None else _time(entry, "expires"),
        workflows=tuple(workflows),
        specifications=entry["specifications"],
        revoked=entry["revoked"],
    )


def _text(entry: Any, name: str) -> str:
    value = entry[name]
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be a text")
    return value


def _bytes(entry: Any, name: str) -> bytes:
    try:
        return base64.b64decode(_text(entry, name), validate=True)
    except binascii.Error as error:
        raise ValueError(f"{name} is not base64") from error


def _time(entry: Any, name: str) -> datetime:
    value = datetime.fromisoformat(_text(entry, name))
    if value.tzinfo is None:
        raise ValueError(f"{name} has no time zone")
    return value


def _fault(
    path: Path, what: str, error: BaseException | None = None
) -> WorkflowEnvironmentConfigurationError:
    return WorkflowEnvironmentConfigurationError(
        f"The file of API keys '{path}' {what}.", context=_CONTEXT, inner_error=error
    )

"""API keys: what one permits, how one is made and how a given text is held against the stored
hashes. Reads and writes no file.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase

KEY_PREFIX = "weft"
_ID_BYTES = 6
_SECRET_BYTES = 32
_SALT_BYTES = 16
_LONGEST_KEY = 256


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key as it is stored: everything but the key itself.

    Attributes:
        id: public part of the key, by which it is listed and revoked.
        name: what the key is for, as its maker wrote it.
        salt: random bytes of this key.
        digest: hash of salt and secret part.
        created: when it was made.
        expires: from when on it is refused; None for never.
        workflows: ids of the stored workflows it may run (`shop/count`, or `count` for a file that
            serves every workspace), `*` and `?` for any text.
        specifications: whether it may send workflows of its own, run single models and manage
            what the server runs.
        revoked: whether it was withdrawn.
    """

    id: str
    name: str
    salt: bytes
    digest: bytes
    created: datetime
    expires: datetime | None
    workflows: tuple[str, ...]
    specifications: bool
    revoked: bool = False

    def is_valid(self, now: datetime) -> bool:
        """Whether the key is neither withdrawn nor past its end."""
        return not self.revoked and (self.expires is None or now < self.expires)

    def permits(self, workflow_id: str | None) -> bool:
        """Whether the key may run a stored workflow; None stands for a workflow sent along."""
        if workflow_id is None:
            return self.specifications
        return any(fnmatchcase(workflow_id, pattern) for pattern in self.workflows)


def new_key(
    name: str,
    workflows: Iterable[str],
    specifications: bool,
    expires: datetime | None = None,
    now: datetime | None = None,
) -> tuple[str, ApiKey]:
    """A fresh key: the text its user gets, which is not kept, and the record to store."""
    key_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    salt = secrets.token_bytes(_SALT_BYTES)
    record = ApiKey(
        id=key_id,
        name=name,
        salt=salt,
        digest=_digest(salt, secret),
        created=now or datetime.now(UTC),
        expires=expires,
        workflows=tuple(workflows),
        specifications=specifications,
    )
    return f"{KEY_PREFIX}_{key_id}_{secret}", record


class KeyRing:
    """The keys of a server, to look up what a client sent.

    Args:
        keys: records with distinct ids.
    """

    __slots__ = ("_by_id", "_decoy")

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        self._by_id = {key.id: key for key in keys}
        self._decoy = new_key("decoy", (), False)[1]

    def find(self, text: str, now: datetime | None = None) -> ApiKey | None:
        """The valid key behind a text, None when there is none.

        A wrong secret, an unknown id and a key that is past its end take the same steps, so that
        the time of the answer says nothing.
        """
        key_id, secret = _parts(text)
        key = self._by_id.get(key_id)
        candidate = key or self._decoy
        right = hmac.compare_digest(_digest(candidate.salt, secret), candidate.digest)
        if key is None or not right or not key.is_valid(now or datetime.now(UTC)):
            return None
        return key


def _parts(text: str) -> tuple[str, str]:
    prefix, _, rest = text.partition("_")
    key_id, _, secret = rest.partition("_")
    if prefix != KEY_PREFIX or len(text) > _LONGEST_KEY:
        return "", ""
    return key_id, secret


def _digest(salt: bytes, secret: str) -> bytes:
    # A slow hash guards secrets that people choose. These have 256 random bits, so that trying
    # them is hopeless at any speed, and each request pays for the hash: a fast one is right.
    return hashlib.blake2b(secret.encode("utf-8", "replace"), key=salt, digest_size=32).digest()

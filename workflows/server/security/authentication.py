"""Who sends a request: finds the API key in it, holds it against the file of keys and slows down
guessing. What a key permits is decided in `keys`.
"""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from math import ceil
from typing import Any
from urllib.parse import unquote_plus

from execution_engine.errors import WorkflowEnvironmentConfigurationError
from workflows.server.faults import InvalidRequestError, UnauthorisedError
from workflows.server.security.guessing import GuessingLimit
from workflows.server.security.key_file import KeyFile
from workflows.server.security.keys import ApiKey
from workflows.server.security.refusals import KeysUnreadableError, TooManyWrongKeysError

_BEARER = "bearer "
_MEMBER = "api_key"
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="weftlens"'}


def take_keys(scope: MutableMapping[str, Any]) -> list[str]:
    """The API keys in the address and the headers of a request; takes them out of the scope."""
    found: list[str] = []
    headers = []
    for name, value in scope["headers"]:
        if name.lower() != b"authorization":
            headers.append((name, value))
            continue
        text = value.decode("latin-1").strip()
        found.append(text[len(_BEARER) :].strip() if text.lower().startswith(_BEARER) else text)
    scope["headers"] = headers
    if b"api_key" in unquote_plus(scope["query_string"].decode("latin-1")).encode():
        parts = []
        for part in scope["query_string"].split(b"&"):
            name, _, text = part.decode("latin-1").partition("=")
            if unquote_plus(name) == _MEMBER:
                found.append(unquote_plus(text))
            else:
                parts.append(part)
        scope["query_string"] = b"&".join(parts)
    return [text for text in found if text]


class Authentication:
    """Lets in who has a valid key.

    Args:
        keys: the file of keys.
        guessing: counts wrong keys.
        open_paths: paths that are served to everybody.
    """

    __slots__ = ("_guessing", "_keys", "_open_paths")

    def __init__(self, keys: KeyFile, guessing: GuessingLimit, open_paths: Collection[str]) -> None:
        self._keys = keys
        self._guessing = guessing
        self._open_paths = frozenset(open_paths)

    def is_needed(self, path: str) -> bool:
        """Whether a path is served only to those who have a key."""
        return path not in self._open_paths

    def check_address(self, scope: MutableMapping[str, Any]) -> None:
        """Refuses an address that sent too many wrong keys.

        Raises:
            TooManyWrongKeysError: it has to wait.
        """
        left = self._guessing.barred_for(_address(scope))
        if left > 0:
            raise TooManyWrongKeysError(
                "This address sent too many wrong API keys; wait before the next one.",
                {"Retry-After": str(ceil(left))},
            )

    def key_of(self, scope: MutableMapping[str, Any], given: list[str]) -> ApiKey | None:
        """The valid key among those a request brought; None when it brought none.

        Raises:
            UnauthorisedError: the key is not valid.
            TooManyWrongKeysError: the address has to wait.
            InvalidRequestError: it brought different ones.
            KeysUnreadableError: the file of keys cannot be read.
        """
        if not given:
            return None
        self.check_address(scope)
        if len(set(given)) > 1:
            raise InvalidRequestError("The request brings different API keys; send one.")
        try:
            key = self._keys.ring().find(given[0])
        except WorkflowEnvironmentConfigurationError as error:
            raise KeysUnreadableError("The server cannot read its API keys.") from error
        if key is None:
            self._guessing.note_failure(_address(scope))
            raise UnauthorisedError("The API key is not valid.", _CHALLENGE)
        return key

    def key_in_body(self, scope: MutableMapping[str, Any], body: Any) -> ApiKey:
        """The valid key in the JSON of a request that brought none elsewhere.

        Raises:
            UnauthorisedError: there is no key, or it is not valid.
            KeysUnreadableError: the file of keys cannot be read.
        """
        text = body.get(_MEMBER) if isinstance(body, dict) else None
        key = self.key_of(scope, [text]) if isinstance(text, str) and text else None
        if key is None:
            raise UnauthorisedError(
                "This server needs an API key: the header `Authorization: Bearer <key>`, or "
                "`api_key` in the JSON body or the query.",
                _CHALLENGE,
            )
        return key


def _address(scope: MutableMapping[str, Any]) -> str:
    client = scope.get("client")
    return client[0] if client else ""

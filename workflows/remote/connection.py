"""`Connection`: JSON requests to one server, repeated where that is safe, within one total time.
Knows no route and no workflow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from numbers import Real
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from workflows.remote.errors import (
    RemoteServerError,
    ServerAnswerError,
    ServerConnectionError,
    ServerTimeoutError,
)
from workflows.remote.retry import RetryPolicy, failure_of_status, retry_after

if TYPE_CHECKING:
    import httpx

# Shorter than what servers keep idle connections open for (5 s and more), so that a connection is
# not given up by the server at the moment a request is written to it.
_KEEP_ALIVE = 2.0
_CONNECTIONS = 32
_SHOWN = 200
# Seconds a socket can wait: clocks of some systems end not far above it (a year).
_LONGEST_WAIT = 31_536_000.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its status and its JSON body, or its text when the body is no JSON."""

    status: int
    content: Any
    is_json: bool = True


class Connection:
    """A pool of connections to one server; thread-safe.

    Redirects are not followed: they would carry the key to another address.

    Args:
        url: address, such as `http://127.0.0.1:9001`, with or without a path in front of the
            routes.
        api_key: sent as `Authorization: Bearer`.
        policy: how often requests are repeated.
        sleep: waits some seconds.

    Raises:
        ValueError: the address is none.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        import httpx

        self.server = checked_address(url)
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        headers = {"User-Agent": f"weftlens/{_own_version()}", "Accept": "application/json"}
        if api_key is not None:
            headers["Authorization"] = f"Bearer {_header_text(api_key)}"
        self._client = httpx.Client(
            headers=headers,
            limits=httpx.Limits(
                max_connections=_CONNECTIONS,
                max_keepalive_connections=_CONNECTIONS,
                keepalive_expiry=_KEEP_ALIVE,
            ),
        )

    def get(self, path: str, *, timeout: float) -> Answer:
        """The answer to a GET, which may always be repeated; errors as `post`."""
        return self._send("GET", path, None, timeout, repeatable=True)

    def post(
        self, path: str, body: Mapping[str, Any], *, timeout: float, repeatable: bool
    ) -> Answer:
        """The answer to a POST of a JSON object, whatever its status.

        Args:
            path: path of the route.
            body: the object; every part of it has a JSON form.
            timeout: seconds for all attempts and pauses together.
            repeatable: whether running the request twice does no harm.

        Raises:
            ServerConnectionError: the server cannot be reached, or the connection broke.
            ServerTimeoutError: no answer came in time.
            ServerAnswerError: the answer is a redirect, or no HTTP.
        """
        return self._send("POST", path, orjson.dumps(body), timeout, repeatable=repeatable)

    def close(self) -> None:
        """Closes all connections; no request is sent afterwards."""
        self._client.close()

    def _send(
        self, method: str, path: str, body: bytes | None, timeout: float, *, repeatable: bool
    ) -> Answer:
        deadline = time.monotonic() + checked_timeout(timeout)
        attempts = 0
        while True:
            attempts += 1
            asked = None
            try:
                answer, asked = self._attempt(method, path, body, deadline, timeout)
            except _Failed as failed:
                if not self._policy.allows(failed.failure, attempts, repeatable):
                    raise failed.error(attempts) from failed.cause
                last: Answer | RemoteServerError = failed.error(attempts)
            else:
                failure = failure_of_status(answer.status, answer.content)
                if failure is None or not self._policy.allows(failure, attempts, repeatable):
                    return answer
                last = answer
            pause = self._policy.pause(attempts, asked)
            if time.monotonic() + pause >= deadline:
                # The next attempt would come too late: what is known is the answer.
                if isinstance(last, Answer):
                    return last
                raise last
            self._sleep(pause)

    def _attempt(
        self, method: str, path: str, body: bytes | None, deadline: float, timeout: float
    ) -> tuple[Answer, float | None]:
        """One attempt: the answer and the pause the server asks for."""
        import httpx

        left = deadline - time.monotonic()
        if left <= 0:
            raise self._too_slow(timeout)
        headers = {} if body is None else {"Content-Type": "application/json"}
        request = self._client.build_request(
            method,
            f"{self.server}{path}",
            content=body,
            headers=headers,
            timeout=min(left, _LONGEST_WAIT),
        )
        try:
            response = self._client.send(request, stream=True)
            try:
                content = self._read(response, deadline, timeout)
            finally:
                response.close()
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise _Failed("refused", self.server, error) from error
        except httpx.TimeoutException as error:
            raise self._too_slow(timeout, error) from error
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise _Failed("broken", self.server, error) from error
        except httpx.HTTPError as error:
            raise ServerAnswerError(
                f"The server {self.server} does not answer as an HTTP server: {_text(error)}.",
                self.server,
                error,
            ) from error
        if response.is_redirect:
            raise ServerAnswerError(
                f"The server {self.server} redirects {path} to "
                f"{response.headers.get('location', 'nowhere')!r:.200}; redirects are not "
                "followed. Give the address it redirects to.",
                self.server,
            )
        wait = retry_after(response.headers.get("retry-after"), datetime.now(UTC))
        try:
            return Answer(response.status_code, orjson.loads(content)), wait
        except orjson.JSONDecodeError:
            text = content.decode("utf-8", "replace")
            return Answer(response.status_code, text[:_SHOWN], is_json=False), wait

    def _read(self, response: httpx.Response, deadline: float, timeout: float) -> bytes:
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if time.monotonic() > deadline:
                raise self._too_slow(timeout)
        return bytes(content)

    def _too_slow(self, timeout: float, cause: BaseException | None = None) -> ServerTimeoutError:
        return ServerTimeoutError(
            f"The server {self.server} did not answer within {timeout:.4g} s; the run may still go "
            "on there. Give a longer timeout or less work.",
            self.server,
            cause,
        )


class _Failed(Exception):
    """An attempt without an answer."""

    def __init__(self, failure: Any, server: str, cause: Exception) -> None:
        super().__init__(failure)
        self.failure = failure
        self.server = server
        self.cause = cause

    def error(self, attempts: int) -> ServerConnectionError:
        """The error for the caller after so many attempts."""
        times = f" ({attempts} attempts)" if attempts > 1 else ""
        if self.failure == "refused":
            message = (
                f"The server {self.server} cannot be reached{times}: {_text(self.cause)}. Is it "
                "running, and are host and port right? `weftlens serve` starts one."
            )
        else:
            message = (
                f"The connection to the server {self.server} broke before it answered{times}: "
                f"{_text(self.cause)}. The run may have happened there."
            )
        return ServerConnectionError(message, self.server, self.cause)


def checked_timeout(timeout: float) -> float:
    """The seconds of a time limit; raises `ValueError` when they are not above 0."""
    if isinstance(timeout, bool) or not isinstance(timeout, Real) or not timeout > 0:
        raise ValueError(f"timeout must be a number of seconds above 0, got {timeout!r}")
    return timeout


def seconds_left(deadline: float) -> float:
    """Seconds until a reading of `time.monotonic`; a moment when it has passed, in which a request
    fails for being late.
    """
    return max(deadline - time.monotonic(), 1e-3)


def checked_address(url: str) -> str:
    """The address of a server without a slash at its end.

    Raises:
        ValueError: it is no http(s) address, or it holds credentials, a query or a fragment.
    """
    import httpx

    wanted = "a server is an address such as http://127.0.0.1:9001"
    if not isinstance(url, str):
        raise ValueError(f"{wanted}, got {type(url).__name__}")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        usable = usable and (parts.port is None or parts.port > 0)
        usable = usable and url.isprintable() and " " not in url
        (parts.hostname or "").encode("idna")  # as the resolver does; UnicodeError is a ValueError
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        usable = False
    if not usable:
        raise ValueError(f"{wanted}, got {url!r:.100}")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the address of a server holds no credentials; give the key as api_key")
    if parts.query or parts.fragment:
        raise ValueError(f"{wanted}, without query and fragment")
    return url.rstrip("/")


def _header_text(api_key: str) -> str:
    if not isinstance(api_key, str) or not api_key:
        raise ValueError("api_key must be a text that is not empty")
    if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
        raise ValueError("api_key has characters that no key has: only ASCII, no spaces")
    return api_key


def _text(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__


def _own_version() -> str:
    try:
        return version("weftlens")
    except PackageNotFoundError:
        return "unknown"

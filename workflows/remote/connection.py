"""`Connection`: JSON requests to one server, repeated where that is safe, within one total time and
one limit on the size of an answer. Knows no route and no workflow.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from numbers import Real
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from workflows.deadlines import Deadline, DeadlinePassed
from workflows.remote.body import ENCODINGS, BodyEncodingError, BodyReader, BodyTooLargeError
from workflows.remote.errors import (
    RemoteServerError,
    ServerAnswerError,
    ServerConnectionError,
    ServerTimeoutError,
)
from workflows.remote.json_answers import hidden, holds, parsed
from workflows.remote.progress import Progress
from workflows.remote.retry import Failure, RetryPolicy, failure_of_status, retry_after

if TYPE_CHECKING:
    import httpcore

DEFAULT_MAX_ANSWER_BYTES = 512 * 1024 * 1024
_CONNECTIONS = 32
_REDIRECTS = range(300, 400)
_OK = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its status and its JSON body, or its text when the body is no JSON."""

    status: int
    content: Any
    is_json: bool = True


class Connection:
    """A pool of connections to one server; thread-safe.

    Redirects are not followed: they would carry the key to another address. Cookies are not kept.

    Args:
        url: address, such as `http://127.0.0.1:9001`, with or without a path in front of the
            routes.
        api_key: sent as `Authorization: Bearer`. Where a server says it in an error or in
            something that is no JSON, it is hidden.
        policy: how often requests are repeated.
        sleep: waits some seconds.
        max_answer_bytes: largest answer, in bytes of its decoded body.

    Raises:
        ValueError: the address or another argument cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        max_answer_bytes: int = DEFAULT_MAX_ANSWER_BYTES,
    ) -> None:
        import httpx

        from workflows.remote.pool import CallDeadline, make_pools

        self.server = checked_address(url)
        self._max_answer_bytes = _checked_size(max_answer_bytes)
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._api_key = None if api_key is None else _header_text(api_key)
        address = httpx.URL(self.server)
        self._headers: dict[bytes | str, bytes | str] = {
            "Host": address.netloc.decode("ascii"),
            "User-Agent": f"weftlens/{_own_version()}",
            "Accept": "application/json",
            "Accept-Encoding": ENCODINGS,
        }
        if self._api_key is not None:
            self._headers["Authorization"] = f"Bearer {self._api_key}"
        self._deadline = CallDeadline()
        self._pools = make_pools(address, self._deadline, _CONNECTIONS)
        # Waited for here, with a time limit for all of it: the pools have one for each waiting.
        self._slots = threading.BoundedSemaphore(_CONNECTIONS)
        self._is_closed = False

    def get(self, path: str, *, timeout: float | Deadline) -> Answer:
        """The answer to a GET, which may always be repeated; errors as `post`."""
        return self._send("GET", path, None, timeout, repeatable=True)

    def post(
        self, path: str, body: Mapping[str, Any], *, timeout: float | Deadline, repeatable: bool
    ) -> Answer:
        """The answer to a POST of a JSON object, whatever its status.

        Args:
            path: path of the route.
            body: the object; every part of it has a JSON form.
            timeout: seconds, or a deadline that is shared with other requests, for all of it:
                finding the host, connecting, sending, waiting, receiving the last byte of the
                answer, repetitions and the pauses between them. No step outlasts it, however
                slowly the server takes or gives bytes.
            repeatable: whether running the request twice does no harm. If so, it may go out on a
                connection that was kept, and again at once where the server had closed that; if
                not, it has a connection of its own.

        Raises:
            ServerConnectionError: the server cannot be reached, or the connection broke.
            ServerTimeoutError: no complete answer came in time.
            ServerAnswerError: the answer is a redirect, no HTTP, or larger than the limit.
            RuntimeError: the connection was closed.
        """
        return self._send("POST", path, orjson.dumps(body), timeout, repeatable=repeatable)

    def close(self) -> None:
        """Closes all connections; no request is sent afterwards."""
        self._is_closed = True
        self._pools.close()

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        timeout: float | Deadline,
        *,
        repeatable: bool,
    ) -> Answer:
        if not isinstance(timeout, Deadline):
            timeout = Deadline(checked_timeout(timeout))
        attempts, fresh = 0, not repeatable
        while True:
            attempts += 1
            asked = None
            try:
                answer, asked = self._attempt(method, path, body, timeout, fresh, attempts)
            except _Failed as failed:
                if failed.on_kept and not fresh:
                    # The server closed it while it waited: a fault of keeping it, no attempt.
                    attempts, fresh = attempts - 1, True
                    continue
                if not self._policy.allows(failed.failure, attempts, repeatable):
                    raise failed.error(attempts) from failed.cause
                last: Answer | RemoteServerError = failed.error(attempts)
            else:
                failure = failure_of_status(answer.status, answer.content)
                if failure is None or not self._policy.allows(failure, attempts, repeatable):
                    return answer
                last = answer
            pause = self._policy.pause(attempts, asked)
            if not _leaves(timeout, pause):
                # The next attempt would come too late: what is known is the answer.
                if isinstance(last, Answer):
                    return last
                raise last
            self._sleep(pause)

    def _attempt(
        self,
        method: str,
        path: str,
        body: bytes | None,
        deadline: Deadline,
        fresh: bool,
        attempts: int,
    ) -> tuple[Answer, float | None]:
        """One attempt: the answer and the pause the server asks for."""
        import httpcore

        if self._is_closed:
            raise RuntimeError(f"the connections to {self.server} are closed")
        progress = Progress(_CONNECTIONS)
        try:
            with self._deadline.holding(deadline), self._slot(deadline, progress):
                return self._ask(method, path, body, fresh, progress)
        except (DeadlinePassed, httpcore.TimeoutException) as error:
            raise ServerTimeoutError(
                progress.too_slow(self.server, deadline.seconds, attempts), self.server, error
            ) from error
        except (httpcore.ConnectError, httpcore.ProxyError) as error:
            raise _Failed("refused", self.server, error) from error
        except httpcore.NetworkError as error:
            raise _Failed("broken", self.server, error, on_kept=progress.on_kept) from error
        except httpcore.RemoteProtocolError as error:
            if _is_hang_up(error):
                raise _Failed("broken", self.server, error, on_kept=progress.on_kept) from error
            raise self._no_http(error) from error
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise self._no_http(error) from error
        except BodyEncodingError as error:
            raise ServerAnswerError(
                f"The body of what the server {self.server} answered to {path} cannot be decoded: "
                f"{_text(error)}.",
                self.server,
                error,
            ) from error
        except BodyTooLargeError as error:
            announced = "" if error.announced is None else f" ({error.announced} bytes announced)"
            raise ServerAnswerError(
                f"The server {self.server} answered {path} with more than "
                f"{self._max_answer_bytes} bytes{announced}, the limit of this side. Run fewer "
                "images at a time, declare fewer outputs, or give a larger max_answer_bytes "
                "(WEFTLENS_REMOTE_MAX_ANSWER_BYTES).",
                self.server,
                error,
            ) from error

    @contextmanager
    def _slot(self, deadline: Deadline, progress: Progress) -> Iterator[None]:
        left = deadline.left()
        progress.note("pool.take_slot.started", {})
        if not self._slots.acquire(timeout=left):
            raise DeadlinePassed
        try:
            yield
        finally:
            self._slots.release()

    def _ask(
        self, method: str, path: str, body: bytes | None, fresh: bool, progress: Progress
    ) -> tuple[Answer, float | None]:
        """Sends one request and reads the answer; raises what comes from the network."""
        import httpx

        from workflows.remote.pool import target_of

        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        pool = self._pools.fresh if fresh else self._pools.kept
        with pool.stream(
            method,
            target_of(httpx.URL(f"{self.server}{path}")),
            headers=headers,
            content=body,
            extensions={"trace": progress.note},
        ) as response:
            found = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in response.headers
            }
            if response.status in _REDIRECTS:
                raise self._redirect(path, found.get("location", "nowhere"))
            reader = BodyReader(
                found.get("content-encoding", ""),
                found.get("content-length", ""),
                self._max_answer_bytes,
            )
            progress.body = reader
            content = reader.read(response.iter_stream())
        value, is_json = parsed(content)
        # Servers repeat what they refuse; the results of a run are not touched.
        is_result = response.status == _OK and isinstance(value, dict)
        if not is_result and self._api_key is not None and holds(content, self._api_key):
            value = hidden(value, self._api_key)
        answer = Answer(response.status, value, is_json)
        return answer, retry_after(found.get("retry-after"), datetime.now(UTC))

    def _redirect(self, path: str, location: str) -> ServerAnswerError:
        return ServerAnswerError(
            f"The server {self.server} redirects {path} to "
            f"{hidden(location, self._api_key)!r:.200}; redirects are not followed. Give the "
            "address it redirects to.",
            self.server,
        )

    def _no_http(self, error: Exception) -> ServerAnswerError:
        return ServerAnswerError(
            f"The server {self.server} does not answer as an HTTP server: {_text(error):.200}.",
            self.server,
            error,
        )


class _Failed(Exception):
    """An attempt without an answer; `on_kept`: on a connection that had been used before."""

    def __init__(
        self, failure: Failure, server: str, cause: Exception, *, on_kept: bool = False
    ) -> None:
        super().__init__(failure)
        self.on_kept = on_kept
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
    return float(timeout)


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


def _leaves(deadline: Deadline, pause: float) -> bool:
    """Whether there is time after a pause."""
    try:
        return deadline.left() > pause
    except DeadlinePassed:
        return False


def _is_hang_up(error: httpcore.RemoteProtocolError) -> bool:
    """Whether the server closed the connection, in contrast to sending what is no HTTP."""
    return str(error).startswith(("Server disconnected", "peer closed connection"))


def _checked_size(size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"max_answer_bytes must be a whole number above 0, got {size!r}")
    return size


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

"""What stands between a client and the routes: limits on requests, API keys, checks of names and
pages. One call, `install_security`, puts it in front of an application.

No route and no workflow is known here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from execution_engine.errors import WorkflowEnvironmentConfigurationError
from workflows.server.faults import ForbiddenError, UnauthorisedError
from workflows.server.security.authentication import Authentication
from workflows.server.security.bodies import BodyMemory
from workflows.server.security.definition_limits import DefinitionLimits
from workflows.server.security.gate import JSON_STATE, KEY_STATE, Gate, RequestLimits
from workflows.server.security.guessing import GuessingLimit
from workflows.server.security.headers import HostCheck, is_loopback
from workflows.server.security.key_file import KeyFile
from workflows.server.security.keys import ApiKey

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

    from workflows.server.settings import ServerSettings
    from workflows.session import Session

__all__ = ["JSON_STATE", "KEY_STATE", "Security", "install_security"]

OPEN_PATHS = ("/healthz", "/readyz", "/info")
"""Served without a key: what probes and clients ask before they have one."""


class Security:
    """What the routes ask: whether the key of a request permits what it wants.

    Args:
        needs_keys: whether the server has API keys; every request is permitted when not.
    """

    __slots__ = ("needs_keys",)

    def __init__(self, needs_keys: bool) -> None:
        self.needs_keys = needs_keys

    def authorise(self, request: Request) -> None:
        """Checks that a request may do what is about no stored workflow: run one that is sent along
        or a single model, look at what the server has.

        Args:
            request: a request that passed the gate.

        Raises:
            UnauthorisedError: it came without a key.
            ForbiddenError: its key does not permit this.
        """
        key = self._key(request)
        if key is not None and not key.permits(None):
            raise ForbiddenError("The API key does not permit what is no stored workflow.")

    def authorise_stored(
        self, request: Request, workspace: str, workflow_id: str
    ) -> Callable[[str], bool]:
        """Checks that a request may ask for a stored workflow; which file that is, is not known
        yet.

        Args:
            request: a request that passed the gate.
            workspace: the workspace it names.
            workflow_id: the workflow it names.

        Returns:
            Whether its key permits a file, by the own id of that file: `workspace/id`, or `id` for
            one that serves every workspace.

        Raises:
            UnauthorisedError: it came without a key.
            ForbiddenError: its key permits neither.
        """
        key = self._key(request)
        if key is None:
            return lambda own_id: True
        if not any(key.permits(own_id) for own_id in (f"{workspace}/{workflow_id}", workflow_id)):
            raise ForbiddenError("The API key does not permit this workflow.")
        return key.permits

    def _key(self, request: Request) -> ApiKey | None:
        """The key of a request; None when the server has no keys."""
        if not self.needs_keys:
            return None
        key: ApiKey | None = getattr(request.state, KEY_STATE, None)
        if key is None:
            raise UnauthorisedError("This server needs an API key.")
        return key


def install_security(app: FastAPI, session: Session, settings: ServerSettings) -> Security:
    """Puts the checks of requests in front of an application.

    Args:
        app: the application, before its first request.
        session: whose settings say what workflows may do to this machine.
        settings: limits and the file of API keys.

    Returns:
        What the routes ask about the key of a request.

    Raises:
        WorkflowEnvironmentConfigurationError: the file of keys cannot be used, or the settings let
            clients at more than they may get.
    """
    _check_session(session)
    authentication = None
    if settings.api_keys is not None:
        keys = KeyFile(settings.api_keys)
        authentication = Authentication(keys, GuessingLimit(), OPEN_PATHS)
    hosts = settings.allowed_hosts or None
    if hosts is None and authentication is None and is_loopback(settings.host):
        hosts = ()
    app.add_middleware(
        Gate,
        limits=RequestLimits(
            max_body_bytes=settings.max_body_bytes,
            body_timeout=settings.body_timeout,
            max_nesting=settings.max_nesting,
            max_values=settings.max_json_values,
            definitions=DefinitionLimits(settings.max_steps, settings.max_outputs),
        ),
        memory=BodyMemory(settings.max_queued_bytes + settings.max_body_bytes),
        hosts=HostCheck(hosts, settings.allowed_origins),
        authentication=authentication,
    )
    return Security(authentication is not None)


def _check_session(session: Session) -> None:
    own = session.settings
    if own.allow_local_images or own.allow_model_paths:
        raise WorkflowEnvironmentConfigurationError(
            "A server does not let clients name paths of its machine; make its session with "
            "allow_local_images=False and allow_model_paths=False.",
            context="server | security",
        )
    if own.allow_access_to_file_system and own.allowed_write_directory is None:
        raise WorkflowEnvironmentConfigurationError(
            "A server whose workflows may write files needs allowed_write_directory, the only "
            "folder they may write to.",
            context="server | security",
        )

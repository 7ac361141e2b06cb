"""What stands between a client and the routes: limits on requests, API keys, checks of names and
pages. One call, `install_security`, puts it in front of an application.

No route and no workflow is known here.
"""

from __future__ import annotations

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

    def authorise(self, request: Request, workflow_id: str | None) -> None:
        """Checks that a request may do what it is about to.

        Args:
            request: a request that passed the gate.
            workflow_id: the stored workflow it wants, as `workspace/id` or `id`; None for anything
                else: a workflow sent along, a single model, a look at what the server has.

        Raises:
            UnauthorisedError: it came without a key.
            ForbiddenError: its key does not permit this.
        """
        if not self.needs_keys:
            return
        key: ApiKey | None = getattr(request.state, KEY_STATE, None)
        if key is None:
            raise UnauthorisedError("This server needs an API key.")
        if not key.permits(workflow_id):
            what = "what is no stored workflow" if workflow_id is None else "this workflow"
            raise ForbiddenError(f"The API key does not permit {what}.")


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

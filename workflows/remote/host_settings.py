"""The server that a host names in its settings. Asks it nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from execution_engine.errors import WorkflowEnvironmentConfigurationError
from workflows.remote.client import RemoteServer

if TYPE_CHECKING:
    from workflows.session import Session


def server_of_settings(session: Session) -> RemoteServer:
    """The server whose models the steps of a session use.

    Raises:
        WorkflowEnvironmentConfigurationError: the settings name none, or one that cannot be used.
    """
    settings = session.settings
    if settings.remote_server is None:
        raise WorkflowEnvironmentConfigurationError(
            "Steps are to run their models on a server ('step_execution_mode' is 'remote'), but "
            "the settings name none; set remote_server (WEFTLENS_REMOTE_SERVER).",
            context="session",
        )
    key = settings.remote_api_key
    try:
        return RemoteServer(
            settings.remote_server,
            api_key=None if key is None else key.get_secret_value(),
            timeout=settings.remote_timeout,
            session=session,
        )
    except ValueError as error:
        raise WorkflowEnvironmentConfigurationError(
            f"The settings remote_server and remote_api_key cannot be used: {error}.",
            context="session",
            inner_error=error,
        ) from error

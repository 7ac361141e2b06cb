"""`weftlens serve`: runs the HTTP server with options and settings from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workflows.cli.exit_codes import OK, PROBLEM
from workflows.cli.terminal import error_text, write_error

_NEEDS_EXTRA = (
    "weftlens: the server needs packages that are not installed ({missing}); "
    'install them with: pip install "weftlens[server]"'
)


def serve_command(
    host: str | None,
    port: int | None,
    models: list[Path],
    workflows: Path | None,
    api_keys: Path | None,
    locked: bool = False,
) -> int:
    """Serves until it is told to stop; options that are None come from the environment. 1 when a
    workflow has no lock that holds, where locks are asked for, or the port is taken.

    Args:
        host: address to listen on.
        port: port to listen on.
        models: folders of models.
        workflows: folder of stored workflows.
        api_keys: file of API keys.
        locked: serve only what is locked.
    """
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        write_error(_NEEDS_EXTRA.format(missing=error.name))
        return PROBLEM
    from workflows.server.app import create_app
    from workflows.server.observability.json_log import log_as_json
    from workflows.server.serving import PortTakenError, serve
    from workflows.server.settings import read_server_settings
    from workflows.server.workflow_locks import find_unlocked
    from workflows.session import Session

    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "models": tuple(models) or None,
        "workflows": workflows,
        "api_keys": api_keys,
        "locked": locked or None,
    }
    settings = read_server_settings(
        **{name: value for name, value in given.items() if value is not None}
    )
    log_as_json(settings.log_level)
    session = Session(settings.session_settings())
    if settings.locked and settings.workflows is not None:
        unlocked = list(find_unlocked(session, settings.workflows))
        for path, fault in unlocked:
            write_error(error_text(str(path), fault))
        if unlocked:
            write_error(f"weftlens serve: not started, {len(unlocked)} not locked or not as locked")
            session.close()
            return PROBLEM
    try:
        serve(create_app(session, settings, close_session=True))
    except PortTakenError as error:
        write_error(f"weftlens serve: {error}")
        return PROBLEM
    return OK

"""`--server` and `--api-key-env`: the server that a command runs on, and what a workflow takes that
is stored there. Runs nothing itself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workflows.cli.run_inputs import UsageError
from workflows.interface import ANYTHING, Interface, InterfaceInput

if TYPE_CHECKING:
    from execution_engine.kinds.codec import CodecRegistry
    from workflows.remote.client import RemoteServer
    from workflows.remote.signature import Signature
    from workflows.session import Session


def open_server(url: str | None, key_variable: str | None, session: Session) -> RemoteServer | None:
    """The server at an address; None when none was given.

    Args:
        url: value of `--server`.
        key_variable: value of `--api-key-env`: the environment variable that holds the key, which
            is never an argument, since other users of the machine can read those.
        session: whose blocks describe inputs and outputs.

    Raises:
        UsageError: the address is none, the variable is not set, or it holds no key.
    """
    if url is None:
        if key_variable is not None:
            raise UsageError("--api-key-env goes with --server URL")
        return None
    key = None
    if key_variable is not None:
        key = os.environ.get(key_variable)
        if not key:
            raise UsageError(f"--api-key-env {key_variable}: this variable is not set")
    from workflows.remote.client import RemoteServer

    try:
        return RemoteServer(url, api_key=key, session=session)
    except ValueError as error:
        raise UsageError(f"--server: {error}") from error


def interface_of(signature: Signature, codecs: CodecRegistry) -> Interface:
    """The inputs of a workflow that a server described; it names no types and defaults."""
    inputs = tuple(
        InterfaceInput(name, "", shape.kinds or ANYTHING, int(shape.is_image))
        for name, shape in signature.inputs.items()
    )
    return Interface(inputs, (), codecs)

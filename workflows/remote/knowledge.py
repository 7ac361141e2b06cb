"""`ServerKnowledge`: what a server was asked about workflows, so that it is asked once: has it all
they need, and what do stored ones take and give. Runs nothing.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import orjson

from workflows.deadlines import Deadline
from workflows.remote.answers import checked_content
from workflows.remote.check import missing_on_server, model_parameters
from workflows.remote.connection import Connection
from workflows.remote.errors import ServerAnswerError
from workflows.remote.signature import Signature, signature_of_description

CHECK = "/workflows/definition/check"
_NO_SUCH_ROUTE = frozenset({404, 405, 501})
_REMEMBERED = 256


class ServerKnowledge:
    """Answers of one server to questions about workflows; thread-safe.

    Args:
        connection: the way to the server.
        key: members of every body that name the caller.
    """

    def __init__(self, connection: Connection, key: Mapping[str, str]) -> None:
        self._connection = connection
        self._key = dict(key)
        self._lock = threading.Lock()
        self._complete: OrderedDict[bytes, None] = OrderedDict()
        self._signatures: OrderedDict[bytes, Signature] = OrderedDict()

    def signature(
        self, route: str, question: Mapping[str, Any], deadline: Deadline, *, again: bool = False
    ) -> Signature:
        """What the server says a workflow takes and gives, asked once unless `again`.

        Args:
            route: the route that describes it.
            question: what the route takes.
            deadline: until when the answer is wanted.
            again: ask also when it is known.

        Raises:
            WorkflowError: the server has something to say against the workflow.
            RemoteServerError: it cannot be asked, or answers strangely.
        """
        known_as = _digest(route, question)
        with self._lock:
            known = self._signatures.get(known_as)
        if known is not None and not again:
            return known
        server = self._connection.server
        content = checked_content(self._ask(route, question, deadline), server)
        try:
            signature = signature_of_description(content)
        except ValueError as error:
            raise ServerAnswerError(
                f"The server {server} describes the workflow in a way that is not understood: "
                f"{error}.",
                server,
                error,
            ) from error
        self._remember(self._signatures, known_as, signature)
        return signature

    def require(
        self, definition: Any, inputs: Any, deadline: Deadline, *, again: bool = False
    ) -> bool:
        """Asks whether the server has all blocks and models of a definition, once unless `again`.

        Args:
            definition: the workflow as JSON data.
            inputs: values of inputs, of which those that name models are part of the question.
            deadline: as for `signature`.
            again: as for `signature`.

        Returns:
            Whether the server knows the question.

        Raises:
            MissingOnServerError: it lacks something.
            RemoteServerError: it cannot be asked.
        """
        question = {"specification": definition, "inputs": _model_names(definition, inputs)}
        known_as = _digest(CHECK, question)
        with self._lock:
            if known_as in self._complete and not again:
                return True
        answer = self._ask(CHECK, question, deadline)
        knows = answer.status not in _NO_SUCH_ROUTE
        if knows:
            server = self._connection.server
            missing = missing_on_server(checked_content(answer, server), server)
            if missing is not None:
                raise missing
        self._remember(self._complete, known_as, None)
        return knows

    def _ask(self, route: str, question: Mapping[str, Any], deadline: Deadline) -> Any:
        return self._connection.post(
            route,
            {**self._key, **question},
            timeout=deadline,
            repeatable=True,
        )

    def _remember(self, table: OrderedDict[bytes, Any], known_as: bytes, value: Any) -> None:
        with self._lock:
            table[known_as] = value
            while len(table) > _REMEMBERED:
                table.popitem(last=False)


def _digest(route: str, question: Mapping[str, Any]) -> bytes:
    text = orjson.dumps(question, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(route.encode() + b"\0" + text).digest()


def _model_names(definition: Any, inputs: Any) -> dict[str, str]:
    """The inputs that name models, so that the question holds no more than it needs."""
    if not isinstance(inputs, Mapping):
        return {}
    named = {name: inputs.get(name) for name in sorted(model_parameters(definition))}
    return {name: value for name, value in named.items() if isinstance(value, str)}

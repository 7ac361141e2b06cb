"""Where in a definition a compiled piece stands, and the errors it raises there.

Holds no operation.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from execution_engine.definition.references import did_you_mean
from execution_engine.errors import (
    EvaluationEngineError,
    InvalidInputTypeError,
    OperationError,
    UndeclaredSymbolError,
)
from execution_engine.kinds.codec import CodecRegistry, KindCodec
from execution_engine.query_language.definitions import ROW_OPERAND, Operation, Statement

ROOT: Final = "<root>"
CONTEXT: Final = "step_execution | roboflow_query_language_evaluation"

Parameters = Mapping[str, Any]
Step = Callable[[Any, Parameters], Any]
Condition = Callable[[Parameters], bool]


class NestedCompiler(Protocol):
    """What an operation may ask for while it is compiled: the definitions inside it."""

    def chain(self, operations: Sequence[Operation], path: str) -> Step:
        """The operations as one step."""

    def row_mask(self, statement: Statement, path: str) -> Callable[[Any, Parameters], Any]:
        """The statement as a function of rows of detections that gives a boolean mask (n,)."""


@dataclass(frozen=True, slots=True)
class Site:
    """An operation's place in its definition.

    Attributes:
        name: type of the operation.
        path: place, such as `<root>.operations[0]`.
        codecs: what the operation may look into values with.
        nested: compiles the definitions inside the operation.
    """

    name: str
    path: str
    codecs: CodecRegistry
    nested: NestedCompiler

    def detections_codec(self, value: Any) -> KindCodec:
        """The codec for a value that must be detections.

        Raises:
            InvalidInputTypeError: the value is something else.
        """
        codec = find_detections_codec(value, self.codecs)
        if codec is None:
            raise self.wrong_input("detections", value)
        return codec

    def wrong_input(
        self, expected: str, value: Any, cause: BaseException | None = None
    ) -> InvalidInputTypeError:
        """The error for a value that the operation cannot work on."""
        reason = f" ({cause})" if cause is not None else ""
        return InvalidInputTypeError(
            f"{self.name} at {self.path} expects {expected}, got {describe_value(value)}{reason}.",
            context=f"{CONTEXT} | {self.path}",
            inner_error=cause,
        )

    def failed(self, reason: str, cause: BaseException | None = None) -> OperationError:
        """The error for a value of the right type that the operation fails on."""
        return OperationError(
            f"{self.name} at {self.path}: {reason}.",
            context=f"{CONTEXT} | {self.path}",
            inner_error=cause,
        )


def find_detections_codec(value: Any, codecs: CodecRegistry) -> KindCodec | None:
    """The codec that looks into the rows of the value, None when the value has no rows."""
    codec = codecs.for_value(value)
    if codec is not None and codec.offers("column") and codec.offers("select"):
        return codec
    return None


def undeclared(name: str, parameters: Parameters, path: str) -> UndeclaredSymbolError:
    """The error for a named parameter that was not given."""
    given = sorted(str(key) for key in parameters if key != ROW_OPERAND)
    hint = did_you_mean(name, given)
    known = f"given: {', '.join(given)}" if given else "no parameters were given"
    if not given and ROW_OPERAND in parameters:
        known += f" besides the detection '{ROW_OPERAND}'"
    return UndeclaredSymbolError(
        f"Parameter '{name}' is used at {path} but was not given"
        f" ({known}{'; ' + hint if hint else ''}).",
        context=f"{CONTEXT} | {path}",
    )


def not_evaluated(
    what: str, path: str, cause: BaseException, reason: str | None = None
) -> EvaluationEngineError:
    """The error for a statement that could not be evaluated.

    Args:
        what: the comparator or operator.
        path: place of the statement.
        cause: what was raised.
        reason: what to say of it; its class and its message when None.
    """
    said = f"{type(cause).__name__}: {cause}" if reason is None else reason
    return EvaluationEngineError(
        f"Statement at {path}: {what} failed: {said}.",
        context=f"{CONTEXT} | {path}",
        inner_error=cause,
    )


def not_accepted(
    what: str, path: str, expected: str, value: Any, cause: BaseException
) -> EvaluationEngineError:
    """The error for a statement one side of which is of the wrong type."""
    return EvaluationEngineError(
        f"Statement at {path}: {what} expects {expected}, got {describe_value(value)}.",
        context=f"{CONTEXT} | {path}",
        inner_error=cause,
    )


def describe_value(value: Any) -> str:
    """A short text for error messages: the value, where it is a plain one, and its type."""
    kind = type(value).__name__
    if value is None or isinstance(value, (bool, int, float, str, bytes, list, tuple, dict, set)):
        return f"{reprlib.repr(value)} of type {kind}"
    return f"a value of type {kind}"

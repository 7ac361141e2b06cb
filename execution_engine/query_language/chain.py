"""`OperationChain`: operations applied one after the other.

How an operation is built is not decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from execution_engine.query_language.site import Parameters, Step

NO_PARAMETERS: Final[Parameters] = MappingProxyType({})


class OperationChain:
    """Compiled operations; without any, the value comes back as it is.

    Args:
        steps: the operations in order.
    """

    __slots__ = ("_steps",)

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = steps

    def __call__(self, value: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """The value after every operation.

        Args:
            value: what the first operation gets.
            parameters: named values that statements inside the operations may use.

        Raises:
            RoboflowQueryLanguageError: an operation cannot be carried out; message and context name
                its place.
        """
        known = NO_PARAMETERS if parameters is None else parameters
        for step in self._steps:
            value = step(value, known)
        return value

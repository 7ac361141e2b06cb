"""Representations of values: how one kind is held in different Python types, and what changes one
into the other.

The engine knows the names only. No converter of a concrete type may live here: those come from
plug-ins.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from execution_engine.errors import WorkflowEnvironmentConfigurationError

NUMPY: Final = "numpy"
"""The representation every block has."""
TENSOR: Final = "tensor"
"""The representation that `AUTO` takes where a model does not run on the CPU."""
AUTO: Final = "auto"
CPU: Final = "cpu"
WILDCARD: Final = "*"


class Converter:
    """Changes values of some kinds from one representation into another.

    Attributes:
        kinds: names of the kinds. A slot of the kind `*` may hold any of them, so that `convert`
            must give back what is not its own as it is.
        source: representation of the values it takes.
        target: representation of the values it gives.
    """

    kinds: Collection[str] = ()
    source: str = NUMPY
    target: str = TENSOR

    def convert(self, value: Any) -> Any:
        """The value in the target representation; never in place. None never comes."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Representation:
    """A representation beside `numpy` as a plug-in offers it.

    Attributes:
        name: what a run asks for.
        converters: both directions, for each kind whose values differ from the `numpy` ones.
        library: module that its values need; "" for none.
        install: how to get that module.
    """

    name: str
    converters: tuple[Converter, ...] = ()
    library: str = ""
    install: str = ""

    def require_library(self) -> None:
        """Raises `WorkflowEnvironmentConfigurationError` when the module is not installed."""
        if self.library and importlib.util.find_spec(self.library) is None:
            raise WorkflowEnvironmentConfigurationError(
                f"The representation '{self.name}' needs {self.library}, which is not installed: "
                f"{self.install}.",
                context="workflow_compilation | representation",
            )


class Representations:
    """All representations of one registry; filled once, then only read."""

    def __init__(self, offered: Iterable[Representation] = ()) -> None:
        self._offered: dict[str, list[Representation]] = {}
        self._converters: list[Converter] = []
        for representation in offered:
            self.add(representation)

    @property
    def names(self) -> list[str]:
        """Every name a run may ask for, `auto` left out."""
        return [NUMPY, *self._offered]

    def add(self, representation: Representation) -> None:
        """Registers a representation; several plug-ins may add converters to one name."""
        if representation.name in (NUMPY, AUTO, ""):
            raise ValueError(f"a representation cannot be named {representation.name!r}")
        self._offered.setdefault(representation.name, []).append(representation)
        self._converters.extend(representation.converters)

    def require(self, name: str) -> None:
        """Checks that a run may ask for this representation.

        Raises:
            WorkflowEnvironmentConfigurationError: nobody offers it, or its library is missing.
        """
        if name == NUMPY:
            return
        if name not in self._offered:
            raise WorkflowEnvironmentConfigurationError(
                f"representation must be one of {', '.join((*self.names, AUTO))}, got {name!r}.",
                context="workflow_compilation | representation",
            )
        for representation in self._offered[name]:
            representation.require_library()

    def converters(self, kinds: Sequence[str], source: str, target: str) -> tuple[Converter, ...]:
        """The converters that values of these kinds may need on the way, each once."""
        return tuple(
            converter
            for converter in self._converters
            if converter.source == source
            and converter.target == target
            and (WILDCARD in kinds or any(kind in converter.kinds for kind in kinds))
        )


def resolved(representation: str, device: str) -> str:
    """What a run asks for, given where models run: `auto` is `numpy` when that is the CPU."""
    if representation == AUTO and device.partition(":")[0] == CPU:
        return NUMPY
    return representation

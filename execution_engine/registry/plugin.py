"""What a plug-in hands to the engine. Discovery and look-up live beside this file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from execution_engine.block_api.block import WorkflowBlock
from execution_engine.block_api.spec import BlockSpec
from execution_engine.kinds.codec import KindCodec
from execution_engine.kinds.kind import Kind
from execution_engine.kinds.representation import Representation


@dataclass(frozen=True, slots=True)
class KnownBlock:
    """A block known by name that this build does not contain.

    Attributes:
        type_id: canonical id.
        aliases: older ids of the same block.
        title: name for people.
        reason: why it is not here and what would bring it.
    """

    type_id: str
    aliases: tuple[str, ...] = ()
    title: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A named source of blocks, kinds and codecs.

    Attributes:
        source: name by which init parameters are addressed (`source.parameter`).
        distribution: the installed package the plug-in comes from, for messages.
        blocks: block classes, for plug-ins that load everything at once.
        index: returns specs of blocks by canonical id without importing them; `BlockSpec.module`
            and `class_name` say where the code is.
        known: returns blocks that exist elsewhere but not in this build.
        kinds: kinds beyond those of the language.
        codecs: returns the codecs; must not import heavy libraries before a value needs them.
        initializers: values (or functions without arguments) for constructor arguments of blocks by
            name.
        representations: returns the representations beside `numpy` with their converters; must not
            import heavy libraries.
    """

    source: str
    distribution: str = ""
    blocks: Sequence[type[WorkflowBlock]] = ()
    index: Callable[[], Mapping[str, BlockSpec]] | None = None
    known: Callable[[], Sequence[KnownBlock]] | None = None
    kinds: Sequence[Kind] = ()
    codecs: Callable[[], Sequence[KindCodec]] | None = None
    initializers: Mapping[str, Any] = field(default_factory=dict)
    representations: Callable[[], Sequence[Representation]] | None = None


def object_text(value: Any) -> str:
    """An object of a plug-in in words, for messages: a class by its name, else its type."""
    if isinstance(value, type):
        return f"the class {value.__module__}.{value.__qualname__}"
    return "None" if value is None else f"a value of type {type(value).__name__}"

"""A second representation of a toy kind: numbers as texts in place of numbers. Tests nothing.

`toy_number` values are ints on the numpy side and `Words` on the side called `words`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from execution_engine import BlockRegistry, Plugin
from execution_engine.block_api import WorkflowBlock
from execution_engine.kinds.codec import KindCodec
from execution_engine.kinds.kind import Kind
from execution_engine.kinds.representation import NUMPY, Converter, Representation
from tests.execution_engine.toy_blocks import block, standard_blocks

NUMBER_KIND = Kind("toy_number", "a number")
WORDS = "words"


@dataclass(frozen=True)
class Words:
    """A number as text."""

    text: str


class NumberCodec(KindCodec):
    """Writes numbers of both sides as numbers."""

    kind = NUMBER_KIND.name

    def serialise(self, value: Any) -> int:
        """The number."""
        if isinstance(value, Words):
            return int(value.text)
        if not isinstance(value, int):
            raise TypeError(f"a number was expected, got {type(value).__name__}")
        return value


class WordsCodec(KindCodec):
    """Looks into numbers as text."""

    kind = "toy_words"
    python_type = f"{Words.__module__}.{Words.__qualname__}"

    def serialise(self, value: Any) -> int:
        """The number."""
        return int(value.text)


class CountingConverter(Converter):
    """Converts by a function and notes what it was given."""

    kinds = (NUMBER_KIND.name,)

    def __init__(self, source: str, target: str, own: type, change: Callable[[Any], Any]) -> None:
        self.source, self.target = source, target
        self._own, self._change = own, change
        self.given: list[Any] = []

    def convert(self, value: Any) -> Any:
        """The other form of a number; anything else as it is."""
        if not isinstance(value, self._own):
            return value
        self.given.append(value)
        return self._change(value)


class Toys:
    """A registry whose number blocks have siblings, and its converters.

    Attributes:
        registry: standard toy blocks, `n/double@v1` (with a sibling), `n/half@v1` (without) and
            `n/model@v1` (takes a model id, with a sibling).
        to_words, to_numbers: the converters.
    """

    def __init__(
        self, name: str = WORDS, library: str = "", blocks: tuple[type[WorkflowBlock], ...] = ()
    ) -> None:
        self.to_words = CountingConverter(NUMPY, name, int, lambda value: Words(str(value)))
        self.to_numbers = CountingConverter(name, NUMPY, Words, lambda value: int(value.text))
        offered = Representation(
            name, (self.to_words, self.to_numbers), library, "pip install 'toys[words]'"
        )
        outputs = {"out": [NUMBER_KIND]}
        double = with_sibling(
            block("n/double@v1", lambda x: {"out": 2 * x}, outputs=outputs),
            name,
            lambda x: {"out": Words(str(2 * int(x.text)))},
        )
        model = with_sibling(
            block("n/model@v1", lambda x, model_id: {"out": x + 1}, outputs=outputs,
                  fields={"model_id": model_field()}),
            name,
            lambda x, model_id: {"out": Words(str(int(x.text) + 1))},
        )  # fmt: skip
        half = block("n/half@v1", lambda x: {"out": x // 2}, outputs=outputs)
        self.registry = BlockRegistry(
            [
                Plugin(
                    "numbers",
                    blocks=(*standard_blocks(), double, model, half, *blocks),
                    kinds=(NUMBER_KIND,),
                    codecs=lambda: [NumberCodec(), WordsCodec()],
                    representations=lambda: [offered],
                )
            ]
        )


def model_field() -> Any:
    """Annotation of a field that takes the id of a model."""
    from execution_engine.block_api import Selector
    from execution_engine.kinds.catalogue import ROBOFLOW_MODEL_ID_KIND

    return Selector(kind=[ROBOFLOW_MODEL_ID_KIND]) | str


def with_sibling(
    toy: type[WorkflowBlock], representation: str, run: Callable[..., Any]
) -> type[WorkflowBlock]:
    """The block, which names a sibling that runs another function."""

    def bound(self: Any, **arguments: Any) -> Any:
        return run(**arguments)

    members = {"representation": representation, "run": bound}
    sibling = type(f"{toy.__name__}Sibling", (toy,), members)
    toy.get_siblings = classmethod(lambda cls: [sibling])  # type: ignore[method-assign]
    return toy

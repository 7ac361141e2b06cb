"""A slow, plain interpreter of workflows of toy blocks, written from the rules and not from the
engine.

Every value is a dictionary from index to element, every step is worked out element by element. It
says what a run must
give, or which class of error the definition must raise. Nothing of the engine may be used here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Index = tuple[int, ...]
Lineage = tuple[str, ...]
ROOT = "input"


@dataclass(frozen=True)
class ToyBlock:
    """What the rules need to know of a block.

    Attributes:
        call: one element of each argument in, one element (or a list of children, or the selected
            targets) out.
        offsets: how much deeper than the others an argument lies.
        output: change of depth from inputs to outputs.
        accepts_empty: whether None reaches `call`.
        gates: whether the block selects steps.
    """

    call: Callable[..., Any]
    offsets: Mapping[str, int] = field(default_factory=dict)
    output: int = 0
    accepts_empty: bool = False
    gates: bool = False


@dataclass(frozen=True)
class ToyStep:
    """A step: its arguments are names of earlier values (text), lists of such names, or plain
    numbers.
    """

    name: str
    block: str
    arguments: Mapping[str, Any]
    targets: tuple[str, ...] = ()


@dataclass
class Value:
    """Elements by index; an index that is not there is empty."""

    lineage: Lineage
    elements: dict[Index, Any]
    made_by_step: bool


class Refused(Exception):
    """The definition is not valid; the text is the name of the error class."""


class Interpreter:
    """Runs toy workflows.

    Args:
        blocks: blocks by name.
        inputs: depth and (nested) value of inputs by name; depth 0 is one value a run.
    """

    def __init__(
        self, blocks: Mapping[str, ToyBlock], inputs: Mapping[str, tuple[int, Any]]
    ) -> None:
        self.blocks = blocks
        self.indices: dict[Lineage, list[Index]] = {(): [()]}
        self.values: dict[str, Value] = {}
        self.verdicts: dict[str, tuple[Lineage, dict[Index, frozenset[str]]]] = {}
        for name, (depth, value) in inputs.items():
            below = tuple(f"{name}.{level}" for level in range(1, depth))
            lineage = (ROOT, *below) if depth else ()
            elements: dict[Index, Any] = {}
            self._read(value, depth, lineage, (), elements)
            self.values[name] = Value(lineage, elements, False)

    def _read(
        self, value: Any, depth: int, lineage: Lineage, index: Index, elements: dict[Index, Any]
    ) -> None:
        if len(index) == depth:
            elements[index] = value
            return
        level = lineage[: len(index) + 1]
        known = self.indices.setdefault(level, [])
        for position, item in enumerate(value):
            if (*index, position) not in known:
                known.append((*index, position))
            self._read(item, depth, lineage, (*index, position), elements)

    def run(self, steps: Sequence[ToyStep], outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Rows of the response.

        Args:
            steps: every step after those it reads and those that select it.
            outputs: names of the values to give back.

        Raises:
            Refused: the steps do not fit together.
        """
        flows = self.check(steps)
        for step in steps:
            self._run_step(step, steps, *flows[step.name])
        rows = 1
        if any(self.values[name].lineage[:1] == (ROOT,) for name in outputs):
            rows = len(self.indices[(ROOT,)])
        return [
            {name: self._answer(self.values[name], row) for name in outputs} for row in range(rows)
        ]

    def _answer(self, value: Value, row: int) -> Any:
        if value.lineage[:1] == (ROOT,):
            return self._nested(value, (row,))
        return self._nested(value, ())

    def _nested(self, value: Value, index: Index) -> Any:
        if len(index) == len(value.lineage):
            return value.elements.get(index)
        level = self.indices.get(value.lineage[: len(index) + 1], [])
        return [self._nested(value, child) for child in level if child[:-1] == index]

    def check(self, steps: Sequence[ToyStep]) -> dict[str, tuple[Lineage, Lineage]]:
        """Lineage of the calls and of the outputs of every step, from the definitions alone.

        Raises:
            Refused: the steps do not fit together.
        """
        lineages = {name: value.lineage for name, value in self.values.items()}
        flows: dict[str, tuple[Lineage, Lineage]] = {}
        refusals: list[tuple[int, str]] = []
        faulty: set[str] = set()
        for step in steps:
            gates = [gate.name for gate in steps if step.name in gate.targets]
            if faulty & {*_names(step), *gates}:
                faulty.add(step.name)
                continue
            try:
                flow = self._flow(step, lineages, [flows[gate][0] for gate in gates])
            except Refused as refusal:
                order = ["StepInputDimensionalityError"]
                refusals.append((0 if str(refusal) in order else 1, str(refusal)))
                faulty.add(step.name)
                continue
            flows[step.name] = flow
            lineages[step.name] = flow[1]
        if refusals:
            raise Refused(min(refusals, key=lambda entry: entry[0])[1])
        return flows

    def _flow(
        self, step: ToyStep, lineages: Mapping[str, Lineage], gates: Sequence[Lineage]
    ) -> tuple[Lineage, Lineage]:
        block = self.blocks[step.block]
        batched: list[tuple[int, Lineage]] = []
        for argument, given in step.arguments.items():
            for name in given if isinstance(given, list) else [given]:
                if isinstance(name, str) and lineages[name]:
                    batched.append((block.offsets.get(argument, 0), lineages[name]))
        reference: Lineage = ()
        if batched:
            depths = {len(lineage) - offset for offset, lineage in batched}
            if len(depths) > 1:
                raise Refused("StepInputDimensionalityError")
            deepest = max((lineage for _, lineage in batched), key=len)
            if any(lineage != deepest[: len(lineage)] for _, lineage in batched):
                raise Refused("StepInputLineageError")
            reference = deepest[: depths.pop()]
            bases = [lineage for _, lineage in batched]
        else:
            reference = max(gates, key=len, default=())
            bases = [reference]
        for gate in gates:
            if not any(gate == base[: len(gate)] for base in bases):
                raise Refused("ControlFlowDefinitionError")
        if block.output < 0:
            if not batched:
                raise Refused("StepInputDimensionalityError")
            return reference[:-1], reference[:-1]
        if block.output > 0:
            return reference, (*reference, step.name)
        return reference, reference

    def _run_step(
        self, step: ToyStep, steps: Sequence[ToyStep], calls: Lineage, outputs: Lineage
    ) -> None:
        block = self.blocks[step.block]
        gates = [gate.name for gate in steps if step.name in gate.targets]
        elements: dict[Index, Any] = {}
        selected: dict[Index, frozenset[str]] = {}
        if block.output > 0:
            self.indices[outputs] = []
        reads = [name for name in _names(step) if self.values[name].lineage]
        for index in self.indices.get(calls, []):
            shut = not reads and not self._open(step.name, gates, calls, index)
            if shut and (calls or not block.accepts_empty or not _names(step)):
                continue
            arguments, empty = self._arguments(step, gates, index, bool(reads) or bool(calls))
            if empty and not block.accepts_empty:
                continue
            result = block.call(**arguments)
            if block.gates:
                selected[index] = frozenset(step.targets) if result else frozenset()
            elif block.output > 0:
                for position, child in enumerate(result):
                    self.indices[outputs].append((*index, position))
                    elements[(*index, position)] = child
            else:
                elements[index] = result
        self.values[step.name] = Value(outputs, elements, True)
        self.verdicts[step.name] = (calls, selected)

    def _open(self, name: str, gates: Sequence[str], lineage: Lineage, index: Index) -> bool:
        """Whether every gate that decides for this lineage (or a level above) lets the index
        through.
        """
        for gate in gates:
            decides, verdicts = self.verdicts[gate]
            if decides != lineage[: len(decides)]:
                continue
            if name not in verdicts.get(index[: len(decides)], frozenset()):
                return False
        return True

    def _arguments(
        self, step: ToyStep, gates: Sequence[str], index: Index, has_elements: bool
    ) -> tuple[dict[str, Any], bool]:
        empty = False
        arguments: dict[str, Any] = {}
        for argument, given in step.arguments.items():
            items = []
            for name in given if isinstance(given, list) else [given]:
                if not isinstance(name, str):
                    items.append(name)
                    continue
                item, counts = self._element(name, step, gates, index, has_elements)
                empty = empty or (item is None and counts)
                items.append(item)
            arguments[argument] = items if isinstance(given, list) else items[0]
        return arguments, empty

    def _element(
        self, name: str, step: ToyStep, gates: Sequence[str], index: Index, has_elements: bool
    ) -> tuple[Any, bool]:
        """What one call gets for one value, and whether None there means an empty element."""
        value = self.values[name]
        if not value.lineage:
            shut = not has_elements and not self._open(step.name, gates, (), ())
            if shut:
                return None, True
            return value.elements.get(()), value.made_by_step
        if len(value.lineage) == len(index):
            if not self._open(step.name, gates, value.lineage, index):
                return None, True
            return value.elements.get(index), True
        children = [
            value.elements.get(child)
            if self._open(step.name, gates, value.lineage, child)
            else None
            for child in self.indices.get(value.lineage, [])
            if child[: len(index)] == index
        ]
        if not self.blocks[step.block].accepts_empty:
            children = [child for child in children if child is not None]
        return children or None, True


def _names(step: ToyStep) -> list[str]:
    """Values that a step reads."""
    return [
        name
        for given in step.arguments.values()
        for name in (given if isinstance(given, list) else [given])
        if isinstance(name, str)
    ]

"""Blocks that change what they are given: they get copies of their own, so branches never see each
other's work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from execution_engine.block_api import Batch, WorkflowImageData
from execution_engine.errors import StepExecutionError
from execution_engine.executor.private_copies import private_copy
from execution_engine.kinds.codec import CodecRegistry
from tests.execution_engine.toy_blocks import (
    ANY,
    LIST,
    batch_input,
    block,
    parameter,
    run,
    step,
    toy_registry,
    workflow,
)
from tests.execution_engine.toy_kind import Marks, MarksCodec, marks_plugin

IMAGE = {"type": "WorkflowImage", "name": "image"}


def _draw(image: WorkflowImageData) -> dict[str, Any]:
    image.numpy_image[:] += 100
    image.declare_numpy_image_mutated()
    return {"out": image}


def drawing(**hooks: Any) -> Any:
    """A block that brightens its image in place."""
    return block("t/draw@v1", _draw, written=("image",), **hooks)


def measuring() -> Any:
    """A block that gives the mean of its image."""
    return block("t/mean@v1", lambda image: {"out": float(image.numpy_image.mean())})


class TestImages:
    @pytest.mark.parametrize("order", [("d", "m"), ("m", "d")])
    @pytest.mark.parametrize("workers", [1, 4])
    def test_branches_do_not_see_each_other(self, order: tuple[str, str], workers: int) -> None:
        """Drawing in place and measuring the same image give the same in any order and the caller's
        pixels stay.
        """
        pixels = np.full((4, 4, 3), 10, np.uint8)
        steps = {
            "d": step("t/draw@v1", "d", image="$inputs.image"),
            "m": step("t/mean@v1", "m", image="$inputs.image"),
        }
        rows = run(
            workflow(
                [IMAGE],
                [
                    *(steps[name] for name in order),
                    step("t/draw@v1", "dd", image="$steps.d.out"),
                    step("t/mean@v1", "md", image="$steps.d.out"),
                ],
                {"m": "$steps.m.out", "md": "$steps.md.out", "dd": "$steps.dd.out"},
            ),
            {"image": [pixels, pixels]},
            drawing(),
            measuring(),
            max_concurrent_steps=workers,
        )
        assert [(row["m"], row["md"]) for row in rows] == [(10.0, 110.0)] * 2
        assert [row["dd"].numpy_image.max() for row in rows] == [210, 210]
        assert pixels.max() == 10

    def test_undeclared_writing_fails(self) -> None:
        """A block that writes without saying so finds the pixels read-only."""
        definition = workflow([IMAGE], [step("t/draw@v1", "d", image="$inputs.image")])
        with pytest.raises(StepExecutionError, match="read-only"):
            run(definition, {"image": np.zeros((2, 2, 3), np.uint8)}, block("t/draw@v1", _draw))

    def test_batch_mode(self) -> None:
        """A batch block gets a batch of copies."""

        def work(image: Batch[WorkflowImageData]) -> list[dict[str, Any]]:
            return [_draw(item) for item in image]

        pixels = np.full((2, 2, 3), 10, np.uint8)
        rows = run(
            workflow(
                [IMAGE],
                [
                    step("t/draw@v1", "d", image="$inputs.image"),
                    step("t/mean@v1", "m", image="$inputs.image"),
                ],
                {"m": "$steps.m.out", "d": "$steps.d.out"},
            ),
            {"image": [pixels, pixels]},
            block("t/draw@v1", work, written=("image",), batches=("image",)),
            measuring(),
        )
        assert [(row["m"], row["d"].numpy_image.max()) for row in rows] == [(10.0, 110)] * 2

    def test_one_value_for_many_elements(self) -> None:
        """A single image drawn on once an element is copied for every call."""
        canvas = block("t/canvas@v1", lambda: {"out": _image(10)})
        stamp = block(
            "t/stamp@v1",
            lambda image, x: (_draw(image), {"out": int(image.numpy_image.max())})[1],
            written=("image",),
        )
        definition = workflow(
            [batch_input("x")],
            [
                step("t/canvas@v1", "c"),
                step("t/stamp@v1", "s", image="$steps.c.out", x="$inputs.x"),
                step("t/mean@v1", "m", image="$steps.c.out"),
            ],
            {"s": "$steps.s.out", "m": "$steps.m.out"},
        )
        rows = run(definition, {"x": [1, 2, 3]}, canvas, stamp, measuring())
        assert rows == [{"s": 110, "m": 10.0}] * 3


class TestOtherValues:
    def test_literals_of_the_definition(self) -> None:
        """A literal that a block changes is as written at the next call and the next run."""
        append = block(
            "t/append@v1",
            lambda items, x: (items.append(x), {"out": list(items)})[1],
            fields={"items": LIST},
            written=("items",),
        )
        definition = workflow(
            [batch_input("x")],
            [step("t/append@v1", "a", items=[0], x="$inputs.x")],
            {"a": "$steps.a.out"},
        )
        from execution_engine import ExecutionEngine

        with ExecutionEngine.init(definition, registry=toy_registry(append)) as engine:
            for _ in range(2):
                assert engine.run({"x": [1, 2]}) == [{"a": [0, 1]}, {"a": [0, 2]}]

    def test_parameters_of_the_caller(self) -> None:
        """A list given by the caller is not the one the block changes, nor are lists inside it."""
        push = block(
            "t/push@v1",
            lambda data: (data["a"][0].append(9), {"out": data})[1],
            fields={"data": ANY},
            written=("data",),
        )
        given = {"a": [[1]]}
        rows = run(
            workflow(
                [parameter("p")], [step("t/push@v1", "p", data="$inputs.p")], {"o": "$steps.p.out"}
            ),
            {"p": given},
            push,
        )
        assert (rows, given) == ([{"o": {"a": [[1, 9]]}}], {"a": [[1]]})

    def test_values_in_a_list(self) -> None:
        """Every value of a list of references is copied; the same value twice gives two copies."""
        clear = block(
            "t/clear@v1",
            lambda data: (data[0].points.clear(), {"out": len(data[1].points)})[1],
            fields={"data": LIST},
            written=("data",),
        )
        made = block("t/marks@v1", lambda: {"out": Marks([(1, 2)])})
        rows = run(
            workflow(
                [],
                [
                    step("t/marks@v1", "m"),
                    step("t/clear@v1", "c", data=["$steps.m.out", "$steps.m.out"]),
                ],
                {"c": "$steps.c.out", "m": "$steps.m.out"},
            ),
            registry=toy_registry(clear, made, plugins=[marks_plugin()]),
        )
        assert rows == [{"c": 1, "m": Marks([(1, 2)])}]


def _image(value: int) -> WorkflowImageData:
    from execution_engine.block_api import ImageParentMetadata

    return WorkflowImageData(
        ImageParentMetadata("made"), numpy_image=np.full((2, 2, 3), value, np.uint8)
    )


class TestPrivateCopy:
    CODECS = CodecRegistry(codecs=[MarksCodec()])

    def test_by_codec(self) -> None:
        """A value whose kind offers a copy is copied by its codec."""
        marks = Marks([(1, 2)])
        copied = private_copy(marks, self.CODECS)
        assert copied == marks
        assert copied.points is not marks.points

    def test_without_codec(self) -> None:
        """Any other object is copied in depth."""

        class Thing:
            def __init__(self) -> None:
                self.items = [[1]]

        thing = Thing()
        copied = private_copy(thing, self.CODECS)
        assert copied.items == [[1]]
        assert copied.items[0] is not thing.items[0]

    def test_containers(self) -> None:
        """Lists, objects and batches are copied with what is in them; None stays None."""
        array = np.zeros(2)
        batch = Batch([array], [(4,)])
        copied = private_copy({"l": [array, None], "b": batch}, self.CODECS)
        assert copied["l"][1] is None
        assert copied["b"].indices == [(4,)]
        assert all(not np.shares_memory(array, item) for item in (copied["l"][0], copied["b"][0]))

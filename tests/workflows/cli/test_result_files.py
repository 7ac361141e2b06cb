"""Results as files: pictures wherever they hide, names that stay apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from execution_engine import BlockRegistry, Plugin, compile_definition
from execution_engine.block_api import (
    OutputDefinition,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.images import ImageParentMetadata
from execution_engine.kinds.catalogue import IMAGE_KIND, INTEGER_KIND
from workflows.cli.result_files import ResultFiles, ResultForm


class CountManifest(WorkflowBlockManifest):
    """A step that makes a batch out of nothing."""

    type: Literal["toy/count@v1"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("picture", [IMAGE_KIND]), OutputDefinition("n", [INTEGER_KIND])]

    @classmethod
    def get_output_dimensionality_offset(cls) -> int:
        return 1


class Count(WorkflowBlock):
    """Three pictures, numbered."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return CountManifest

    def run(self) -> Any:
        return [{"picture": image(n), "n": n} for n in range(3)]


def image(value: int) -> WorkflowImageData:
    pixels = np.full((4, 6, 3), value, np.uint8)
    return WorkflowImageData(ImageParentMetadata("image"), numpy_image=pixels)


@pytest.fixture
def registry() -> BlockRegistry:
    return BlockRegistry([Plugin("toy", blocks=(Count,))])


def plan_of(registry: BlockRegistry, *outputs: tuple[str, str]) -> Any:
    """A plan with a parameter `x`, a step `count`, and outputs given as (name, selector)."""
    return compile_definition(
        {
            "version": "1.0",
            "inputs": [{"type": "WorkflowParameter", "name": "x"}],
            "steps": [{"type": "toy/count@v1", "name": "count"}],
            "outputs": [
                {"type": "JsonField", "name": name, "selector": selector}
                for name, selector in outputs
            ],
        },
        registry,
    )


class TestRows:
    def test_a_batch_made_by_a_step(self, registry: BlockRegistry, tmp_path: Path) -> None:
        """A batch that stems from a step is a list in its row; pictures in it are numbered."""
        plan = plan_of(registry, ("all", "$steps.count.*"), ("n", "$steps.count.n"))
        files = ResultFiles(ResultForm.of_plan(plan), tmp_path, "s", "png")
        members = [{"picture": image(n), "n": n} for n in range(3)]
        (row,) = files.rows([{"all": members, "n": [0, 1, 2]}])
        assert row["n"] == [0, 1, 2]
        assert [member["picture"]["value"] for member in row["all"]] == [
            "s.all.0.picture.png",
            "s.all.1.picture.png",
            "s.all.2.picture.png",
        ]
        assert [member["n"] for member in row["all"]] == [0, 1, 2]
        assert all(path.exists() for path in files.pictures)

    def test_pictures_inside_of_plain_values(self, registry: BlockRegistry, tmp_path: Path) -> None:
        """Pictures in objects and lists of a value of any kind become files, the rest is kept."""
        plan = plan_of(registry, ("x", "$inputs.x"))
        files = ResultFiles(ResultForm.of_plan(plan), tmp_path, "s", "png")
        (row,) = files.rows([{"x": {"a": [image(1), 5, None], "b": (1, 2), 3: image(2)}}])
        assert row["x"]["a"][0]["value"] == "s.x.a.0.png"
        assert row["x"]["a"][1:] == [5, None]
        assert row["x"]["b"] == [1, 2]
        assert row["x"]["3"]["value"] == "s.x.3.png"

    def test_names_that_fall_together(self, registry: BlockRegistry, tmp_path: Path) -> None:
        """Output names that become one file name, also in another case, are numbered."""
        outputs = [(name, "$inputs.x") for name in ("a/b", "a_b", "A_B", "a?b")]
        files = ResultFiles(ResultForm.of_plan(plan_of(registry, *outputs)), tmp_path, "s", "png")
        (row,) = files.rows([{name: image(1) for name, _ in outputs}])
        assert [row[name]["value"] for name, _ in outputs] == [
            "s.a_b.png",
            "s.a_b-2.png",
            "s.A_B-3.png",
            "s.a_b-4.png",
        ]

    def test_a_very_long_name(self, registry: BlockRegistry, tmp_path: Path) -> None:
        """A name longer than file systems take is cut."""
        name = "n" * 400
        files = ResultFiles(
            ResultForm.of_plan(plan_of(registry, (name, "$inputs.x"))), tmp_path, "s", "png"
        )
        (row,) = files.rows([{name: image(1)}])
        assert row[name]["value"] == f"s.{'n' * 100}.png"

    def test_an_empty_value(self, registry: BlockRegistry) -> None:
        """Nothing stays nothing."""
        files = ResultFiles(
            ResultForm.of_plan(plan_of(registry, ("x", "$inputs.x"))), None, "s", "png"
        )
        assert files.rows([{"x": None}]) == [{"x": None}]


class TestWriteJson:
    def test_a_line_for_each_member(self, registry: BlockRegistry, tmp_path: Path) -> None:
        """One row is an object with a line for each output; several are a list; none is empty."""
        files = ResultFiles(ResultForm.of_plan(plan_of(registry)), tmp_path, "s", "png")
        path = files.write_json([{"ä": [1, 2], "b": "x"}])
        assert path.read_text(encoding="utf-8") == '{\n  "ä": [1, 2],\n  "b": "x"\n}\n'
        assert json.loads(files.write_json([{"a": 1}, {"a": 2}]).read_text()) == [
            {"a": 1},
            {"a": 2},
        ]
        assert json.loads(files.write_json([{}]).read_text()) == {}
        assert json.loads(files.write_json([]).read_text()) == []

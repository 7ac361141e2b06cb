"""Blocks join detections in one place only.

`sv.Detections.merge` refuses sets whose columns or metadata differ and forgets the columns of empty
sets; `blocks.kinds.detections.concat` does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import blocks

ROOT = Path(blocks.__file__).parent
# Methods of detections that merge inside, or filter by masks of reduced size.
OTHERS = ("with_nms", "with_nmm", "with_soft_nms")


def direct_joins(source: str) -> Iterator[int]:
    """Lines that call `Detections.merge` or one of `OTHERS`."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = node.func.value
        name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
        if (node.func.attr == "merge" and name == "Detections") or node.func.attr in OTHERS:
            yield node.lineno


class TestDirectJoins:
    def test_blocks_have_none(self) -> None:
        """No block joins detections past the one function for it."""
        found = [
            f"{path.relative_to(ROOT)}:{line}"
            for path in sorted(ROOT.rglob("*.py"))
            for line in direct_joins(path.read_text(encoding="utf-8"))
        ]
        assert found == []

    @pytest.mark.parametrize(
        ("source", "lines"),
        [
            ("x = sv.Detections.merge([a, b])", [1]),
            ("from supervision import Detections\nDetections.merge(parts)", [2]),
            ("a.with_nms(0.5)", [1]),
            ("CompactMask.merge(parts)", []),
            ("# sv.Detections.merge is not used", []),
        ],
    )
    def test_is_found(self, source: str, lines: list[int]) -> None:
        """The search finds what it is for and nothing else."""
        assert list(direct_joins(source)) == lines

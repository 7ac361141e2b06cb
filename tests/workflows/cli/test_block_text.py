"""What is said about one block, beyond the texts that `test_blocks` reads."""

from __future__ import annotations

from typing import Any

import pytest

from blocks.index import block_schema
from execution_engine.block_api.spec import BlockSpec, FieldSpec, ReferenceSpec
from workflows.cli.block_text import block_text, example_step
from workflows.session import Session


class TestExampleStep:
    def test_every_block_accepts_its_own(self, session: Session) -> None:
        """The manifest of each block takes the step that is shown for it."""
        registry = session.registry
        assert len(registry.specs) > 50
        for spec in registry.specs.values():
            step = example_step(spec, block_schema(spec.type_id))
            registry.load(spec.type_id).manifest.model_validate(step)

    def test_a_filter_is_shown_with_a_filter(self, session: Session) -> None:
        """The step shown for a filter of detections filters."""
        type_id = "roboflow_core/detections_filter@v1"
        step = example_step(session.registry.specs[type_id], block_schema(type_id))
        assert [operation["type"] for operation in step["operations"]] == ["DetectionsFilter"]

    @pytest.mark.parametrize(
        ("described", "value"),
        [
            ({"examples": [7, 8], "type": "integer"}, 7),
            ({"default": 4, "type": "integer"}, 4),
            ({"enum": ["a", "b"], "type": "string"}, "a"),
            ({"anyOf": [{"type": "string"}, {"enum": ["c"]}]}, "c"),
            ({"reference": True, "type": "string"}, "$inputs.value"),
            ({"reference": True, "selected_element": "step", "type": "string"}, "$steps.other"),
            ({"type": "number"}, 0.0),
            ({}, None),
        ],
    )
    def test_without_example(self, described: dict[str, Any], value: Any) -> None:
        """A field without example has its default, its first choice or an empty value."""
        spec = BlockSpec("t/a@v1", family="a", fields={"x": FieldSpec("x", ("x",))})
        schema = {"properties": {"x": described}}
        assert example_step(spec, schema) == {"type": "t/a@v1", "name": "a", "x": value}


class TestBlockText:
    @pytest.mark.parametrize(
        ("described", "line"),
        [
            ({"minimum": 1}, "at least 1"),
            ({"maximum": 9}, "at most 9"),
            ({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, "more than 0\n      less than 1"),
            ({"anyOf": [{"type": "string"}, {"minimum": 1, "maximum": 2}]}, "from 1 to 2"),
            ({"minItems": 2, "maxItems": 3}, "at least 2 items and at most 3 items"),
            ({"minItems": 3, "maxItems": 3}, "3 items"),
            ({"maxLength": 5}, "at most 5 characters"),
            ({"$ref": "#/$defs/E"}, "one of x, y"),
            ({"items": {"const": 5}}, "one of 5"),
        ],
    )
    def test_limits(self, described: dict[str, Any], line: str) -> None:
        """Limits and choices are found in every form of a value."""
        field = FieldSpec("x", ("x",), True, (ReferenceSpec("any_data", ("integer",)),))
        schema = {"properties": {"x": described}, "$defs": {"E": {"enum": ["x", "y"]}}}
        text = block_text(BlockSpec("t/a@v1", title="A", fields={"x": field}), schema)
        assert f"\n  x: reference to integer or value, required\n      {line}\n" in text

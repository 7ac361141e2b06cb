"""`property_definition@v1`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from blocks.formatters.property_definition.v1 import (
    PropertyDefinitionBlockV1,
    PropertyDefinitionManifest,
)
from execution_engine.block_api import ImageParentMetadata, WorkflowImageData
from execution_engine.kinds.codec import CodecRegistry


def run(data: Any, operations: list[dict[str, Any]]) -> Any:
    manifest = PropertyDefinitionManifest.model_validate(
        {"type": "PropertyDefinition", "name": "p", "data": "$inputs.x", "operations": operations}
    )
    block = PropertyDefinitionBlockV1(CodecRegistry())
    return block.run(data, manifest.operations)["output"]


class TestRun:
    def test_operations_in_order(self) -> None:
        """Each operation gets the result of the one before."""
        assert run(5, [{"type": "Multiply", "other": 2}, {"type": "ToString"}]) == "10"
        assert run(125, [{"type": "ToString"}, {"type": "SequenceLength"}]) == 3

    def test_no_operations(self) -> None:
        """Without operations the value is passed on."""
        value = object()
        assert run(value, []) is value

    def test_image(self) -> None:
        """Properties of images can be taken."""
        image = WorkflowImageData(
            ImageParentMetadata("i"), numpy_image=np.zeros((3, 7, 3), np.uint8)
        )
        operation = {"type": "ExtractImageProperty", "property_name": "width"}
        assert run(image, [operation]) == 7


class TestManifest:
    @pytest.mark.parametrize(
        "operations", [[{"type": "Nope"}], [{"type": "Multiply"}], {"type": "ToString"}]
    )
    def test_faulty_operations_are_refused(self, operations: Any) -> None:
        """Operations that are unknown, lack a parameter or are no list are refused."""
        with pytest.raises(ValidationError, match="operations"):
            run(1, operations)

    @pytest.mark.parametrize(
        "type_id",
        ["roboflow_core/property_definition@v1", "PropertyDefinition", "PropertyExtraction"],
    )
    def test_type_ids(self, type_id: str) -> None:
        """The id and both older ones name the block."""
        manifest = PropertyDefinitionManifest.model_validate(
            {"type": type_id, "name": "p", "data": "$inputs.x", "operations": []}
        )
        assert manifest.type == type_id

"""ONNX files of RF-DETR's exporter, which say what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inference_models.errors import (
    CorruptedModelPackageError,
    MissingModelInitParameterError,
    ModelImplementationNotFoundError,
)
from inference_models.packages import load_package
from tests.inference_models.rfdetr_networks import (
    INPUT,
    MEANS,
    STDS,
    assert_found,
    constants_graph,
    infer,
    raw,
)


def export_metadata(**changes: Any) -> dict[str, str]:
    """What the exporter of RF-DETR writes into its ONNX files."""
    content: dict[str, Any] = {
        "schema_version": 1,
        "format": "onnx",
        "task": "segment",
        "input_shape": [-1, 3, *INPUT],
        "input_layout": "NCHW",
        "input_dtype": "float32",
        "input_name": "input",
        "outputs": {"pred_boxes": "dets", "pred_logits": "labels", "pred_masks": "masks"},
        "means": MEANS,
        "stds": STDS,
        "pixel_scale": 1 / 255,
        "channel_order": "RGB",
        "class_names": ["cat", "dog"],
        "class_id_to_name": {"1": "cat", "2": "dog"},
        "num_classes": 3,
        "num_select": 4,
        "trace_alpha": 0.2,
        "patch_size": 12,
        "num_windows": 2,
    } | changes
    return {"rfdetr_inference": json.dumps(content)}


class TestLoneExport:
    """An `.onnx` file of RF-DETR's exporter, which says what it is."""

    @pytest.mark.parametrize("task", ["detect", "segment"])
    def test_loads_as_it_is(self, tmp_path: Path, task: str) -> None:
        """Size, normalisation and classes come from the file; class ids without a name are no
        classes."""
        masks = task == "segment"
        path = constants_graph(tmp_path / "rfdetr.onnx", raw(masks), export_metadata(task=task))
        found = infer(path, confidence=0.4)
        assert_found(found, (96, 256))
        package = load_package(path)
        assert package.inference.network_input.resize_mode == "stretch"
        assert package.inference.network_input.scaling_factor == 255
        assert package.inference.network_input.normalization == (MEANS, STDS)

    def test_contiguous_classes(self, tmp_path: Path) -> None:
        """Without a table, names are those of the ids from 0 on; the last column is none."""
        metadata = export_metadata(
            class_names=["a", "b", "c"],
            class_id_to_name={},
            task="detect",
            input_shape=[2, 3, 48, 64],
        )
        path = constants_graph(tmp_path / "rfdetr.onnx", raw(False), metadata, batch=2)
        found = infer(path, confidence=0.4)
        assert found.class_name.tolist() == ["a", "c", "b", "c"]
        assert load_package(path).inference.forward_pass.static_batch_size == 2

    def test_other_tasks(self, tmp_path: Path) -> None:
        """A task no family has, and metadata that is wrong, are named."""
        path = constants_graph(
            tmp_path / "pose.onnx", raw(False), export_metadata(task="keypoints")
        )
        with pytest.raises(
            ModelImplementationNotFoundError, match='task "keypoints" is not one of'
        ):
            load_package(path)
        path = constants_graph(tmp_path / "wrong.onnx", raw(False), export_metadata(means=[1]))
        with pytest.raises(CorruptedModelPackageError, match=r"metadata of .*wrong.onnx is wrong"):
            load_package(path)

    def test_without_metadata(self, tmp_path: Path) -> None:
        """An older export does not name its classes: the error says what to do."""
        path = constants_graph(tmp_path / "old.onnx", raw(False))
        with pytest.raises(
            MissingModelInitParameterError, match=r"folder with a model_config\.json"
        ):
            load_package(path)

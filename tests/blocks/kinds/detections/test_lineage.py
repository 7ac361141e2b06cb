from __future__ import annotations

import numpy as np
import pytest
import supervision as sv

from blocks.kinds.detections.lineage import attach_lineage, image_level_values, image_size_of
from execution_engine.images import WorkflowImageData


class TestAttachLineage:
    BOXES = np.array([[0, 0, 4, 4], [1, 1, 3, 3]], np.float32)

    def test_columns(self, crop_image: WorkflowImageData) -> None:
        """Every row names its image, the parents and the place in them, sizes as (h, w)."""
        given = sv.Detections(self.BOXES, class_id=np.array([3, 4]))
        data = attach_lineage(given, crop_image, "object-detection", "i-1").data
        assert {
            key: values[1].tolist() for key, values in data.items() if key != "detection_id"
        } == {
            "class_name": "4",
            "image_dimensions": [28, 40],
            "parent_id": "crop",
            "parent_coordinates": [10, 20],
            "parent_dimensions": [60, 90],
            "root_parent_id": "image",
            "root_parent_coordinates": [10, 20],
            "root_parent_dimensions": [60, 90],
            "scaling_relative_to_parent": 1.0,
            "scaling_relative_to_root_parent": 1.0,
            "prediction_type": "object-detection",
            "inference_id": "i-1",
        }
        assert len(set(data["detection_id"].tolist())) == 2
        assert not given.data

    def test_given_names_and_ids_stay(self, root_image: WorkflowImageData) -> None:
        """Class names and ids that are there are kept."""
        own = {"class_name": np.array(["a", "b"]), "detection_id": np.array(["x", "y"])}
        result = attach_lineage(sv.Detections(self.BOXES, data=own), root_image, "t")
        assert result.data["class_name"].tolist() == ["a", "b"]
        assert result.data["detection_id"].tolist() == ["x", "y"]

    @pytest.mark.parametrize("inference_id", ["i-1", None])
    def test_no_rows(self, crop_image: WorkflowImageData, inference_id: str | None) -> None:
        """Zero rows have the columns and types of full ones, and the values in the metadata."""
        full = attach_lineage(sv.Detections(self.BOXES), crop_image, "t", inference_id)
        empty = attach_lineage(sv.Detections.empty(), crop_image, "t", inference_id)
        assert empty.data.keys() == full.data.keys()
        for key, values in empty.data.items():
            assert values.shape == (0, *full.data[key].shape[1:]), key
            assert values.dtype.kind == full.data[key].dtype.kind, key
        assert empty.metadata == image_level_values(full)
        assert not full.metadata


class TestImageSizeOf:
    def test_sources(self, crop_image: WorkflowImageData) -> None:
        """The size comes from the first row, for zero rows from the metadata, or is unknown."""
        row = sv.Detections(np.zeros((1, 4), np.float32))
        assert image_size_of(attach_lineage(row, crop_image, "t")) == (28, 40)
        assert image_size_of(attach_lineage(sv.Detections.empty(), crop_image, "t")) == (28, 40)
        assert image_size_of(row) is None
        assert image_size_of(sv.Detections.empty()) is None

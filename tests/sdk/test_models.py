"""The published client of the ecosystem runs single models on our server as it is: the current and
the older route, batches, masks on their own grid, loading and unloading.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.blocks.models.colour_models import CLASSIFIER, DETECTOR, LABELLER, POINTS, SEGMENTER
from tests.sdk.conftest import Client
from tests.workflows.remote.live import LiveServer
from tests.workflows.remote.masking import masked
from workflows import Session

pytestmark = pytest.mark.sdk


class TestInfer:
    @pytest.mark.parametrize(
        ("model_id", "wanted"),
        [
            (DETECTOR, {"x", "y", "width", "height", "confidence", "class", "class_id"}),
            (SEGMENTER, {"points", "x", "y", "width", "height"}),
            (POINTS, {"keypoints", "x", "y"}),
        ],
    )
    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_objects(
        self, client: Client, live: LiveServer, shapes: str, model_id: str, wanted: set[str],
        asynchronous: bool,
    ) -> None:  # fmt: skip
        """Three rectangles, with the members of their task."""
        found = client(
            "infer",
            url=live.url,
            model_id=model_id,
            image=["path", shapes],
            asynchronous=asynchronous,
        )
        assert found["image"] == {"width": 130, "height": 90}
        assert sorted(row["class"] for row in found["predictions"]) == ["blue", "green", "red"]
        assert all(row.keys() >= wanted for row in found["predictions"])

    def test_classes(self, client: Client, live: LiveServer, shapes: str) -> None:
        """One class, and several."""
        one = client("infer", url=live.url, model_id=CLASSIFIER, image=["path", shapes])
        assert one["top"] in {row["class"] for row in one["predictions"]}
        assert one["confidence"] == max(row["confidence"] for row in one["predictions"])
        several = client("infer", url=live.url, model_id=LABELLER, image=["path", shapes])
        assert set(several["predicted_classes"]) <= set(several["predictions"])

    def test_the_older_route(self, client: Client, live: LiveServer, shapes: str) -> None:
        """Parameters stand in the query, thresholds in percent or not."""
        options = {"url": live.url, "api_key": "any", "v0": True, "image": ["path", shapes]}
        new = client("infer", url=live.url, model_id=DETECTOR, image=["path", shapes])
        old = client("infer", model_id=DETECTOR, **options)
        keep = ("image", "predictions")
        assert masked([old[name] for name in keep]) == masked([new[name] for name in keep])
        for confidence in (0.99, 99):
            few = client(
                "infer",
                model_id=DETECTOR,
                **options,
                configuration={"confidence_threshold": confidence},
            )
            assert few["predictions"] == []

    @pytest.mark.parametrize("v0", [False, True])
    def test_configuration(self, client: Client, live: LiveServer, shapes: str, v0: bool) -> None:
        """Every field the client has for detectors and segmenters is taken."""
        configuration = {
            "confidence_threshold": 0.3,
            "iou_threshold": 0.5,
            "max_detections": 2,
            "class_agnostic_nms": True,
            "max_candidates": 100,
            "response_mask_format": "rle",
            "mask_decode_mode": "accurate",
            "disable_preproc_contrast": True,
            "disable_preproc_grayscale": True,
            "disable_preproc_static_crop": True,
            "fix_batch_size": True,
            "count_inference": False,
            "source": "tests",
            "source_info": "sdk",
            "disable_active_learning": True,
        }
        found = client(
            "infer",
            url=live.url,
            api_key="any",
            v0=v0,
            model_id=SEGMENTER,
            image=["path", shapes],
            configuration=configuration,
        )
        assert len(found["predictions"]) == 2
        assert all(row["rle"]["size"] == [90, 130] for row in found["predictions"])

    def test_masks_on_their_own_grid(self, client: Client, live: LiveServer, shapes: str) -> None:
        """With the opt-in of the client, everything is on the grid that `image` names."""
        found = client(
            "infer",
            url=live.url,
            model_id=SEGMENTER,
            image=["path", shapes],
            configuration={
                "allow_reduced_mask_resolution": True,
                "mask_decode_mode": "fast",
                "response_mask_format": "rle",
            },
        )
        assert found["original_image"] == {"width": 130, "height": 90}
        size = [found["image"]["height"], found["image"]["width"]]
        assert found["mask_metadata"]["coordinate_system"] == "mask_grid"
        assert all(row["rle"]["size"] == size for row in found["predictions"])

    @pytest.mark.parametrize("batch", [1, 2, 8])
    def test_lists(self, client: Client, live: LiveServer, shapes: str, batch: int) -> None:
        """In batches of the client's choice, several at the same time."""
        images = [["path", shapes], ["numpy", shapes], ["pillow", shapes], ["base64", shapes]] * 2
        found = client(
            "infer",
            url=live.url,
            model_id=DETECTOR,
            image=images,
            configuration={"max_batch_size": batch, "max_concurrent_requests": 2},
        )
        assert [len(answer["predictions"]) for answer in found] == [3] * 8

    @pytest.mark.parametrize("mask_format", ["polygon", "rle"])
    def test_supervision_reads_the_answers(
        self, client: Client, live: LiveServer, shapes: str, mask_format: str, local: Session
    ) -> None:
        """With the boxes and the masks that the model gave."""
        image = cv2.imread(shapes)
        [mine] = local.model_manager.infer(SEGMENTER, image)
        found = client(
            "infer_to_supervision",
            url=live.url,
            model_id=SEGMENTER,
            image=["path", shapes],
            configuration={"response_mask_format": mask_format},
        )
        np.testing.assert_allclose(found["xyxy"], mine.xyxy, atol=1e-3)
        assert found["class_name"] == list(mine.class_name)
        assert found["mask_shape"] == [3, 90, 130]
        if mask_format == "rle":
            assert found["areas"] == mine.masks.areas.tolist()

    def test_a_folder(self, client: Client, live: LiveServer, shapes: str) -> None:
        """Image after image."""
        found = client(
            "stream_of_folder",
            url=live.url,
            model_id=DETECTOR,
            folder=str(Path(shapes).parent),
        )
        assert found == [["shapes.png", 3]]

    def test_a_model_that_is_not_there(self, client: Client, live: LiveServer, shapes: str) -> None:
        """Named by status and message."""
        found = client("infer", url=live.url, model_id="colours-detect/9", image=["path", shapes])
        assert found["error"]["status"] == 404
        assert "colours-detect/9" in found["error"]["message"]


class TestModels:
    def test_load_describe_list_unload(self, client: Client, live: LiveServer) -> None:
        """What the client keeps of models."""
        steps = client("models", url=live.url, model_ids=[DETECTOR, CLASSIFIER])
        detector, classifier = [DETECTOR, "object-detection"], [CLASSIFIER, "classification"]
        assert steps["loaded"] == [detector]
        assert steps["selected"] == DETECTOR
        assert steps["described"][0] == "classification"
        assert steps["both"] == sorted([detector, classifier])
        assert steps["one"] == [classifier]
        assert steps["none"] == []

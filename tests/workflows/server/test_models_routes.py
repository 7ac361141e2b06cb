"""Routes for single models, against the model manager called directly."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from fastapi.testclient import TestClient

COINS = Path(__file__).parents[3] / "examples" / "images" / "coins.png"
MODEL = "parts-seg/1"
ROUTE = "/infer/instance_segmentation"


@pytest.fixture(scope="module")
def picture() -> bytes:
    """A photograph of coins, as JPEG bytes."""
    return cv2.imencode(".jpg", cv2.imread(str(COINS)))[1].tobytes()


def _image(picture: bytes) -> dict[str, str]:
    return {"type": "base64", "value": base64.b64encode(picture).decode()}


def _boxes(answer: dict[str, Any]) -> list[list[float]]:
    return [
        [row["x"], row["y"], row["width"], row["height"], row["confidence"]]
        for row in answer["predictions"]
    ]


class TestInfer:
    def test_answers_as_the_manager_does(self, client: TestClient, picture: bytes) -> None:
        """Boxes and scores are those of a direct call with the same parameters."""
        body = {"model_id": MODEL, "image": _image(picture), "confidence": 0.3, "id": "call-1"}
        answer = client.post(ROUTE, json=body)
        assert answer.status_code == 200, answer.text
        manager = client.app.state.host.session.model_manager  # type: ignore[attr-defined]
        pixels = cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR)
        (direct,) = manager.infer(MODEL, pixels, {"confidence": 0.3})
        got = answer.json()
        assert got["inference_id"] == "call-1"
        assert got["image"] == {"width": pixels.shape[1], "height": pixels.shape[0]}
        assert len(got["predictions"]) == len(direct.xyxy)
        for row, box in zip(_boxes(got), direct.xyxy.tolist(), strict=True):
            assert row[0] == pytest.approx((box[0] + box[2]) / 2, abs=1e-3)
            assert row[2] == pytest.approx(box[2] - box[0], abs=1e-3)

    def test_answers_a_list_with_a_list(self, client: TestClient, picture: bytes) -> None:
        """One object an image, as one by one up to rounding; no image gives no object."""
        one = client.post(ROUTE, json={"model_id": MODEL, "image": _image(picture)}).json()
        body = {"model_id": MODEL, "image": [_image(picture)] * 2}
        many = client.post(ROUTE, json=body).json()
        assert len(many) == 2
        for item in many:
            np.testing.assert_allclose(_boxes(item), _boxes(one), atol=1e-2)
        assert client.post(ROUTE, json={"model_id": MODEL, "image": []}).json() == []

    def test_gives_masks_on_their_own_grid_when_asked(
        self, client: TestClient, picture: bytes
    ) -> None:
        """The answer then says how the grid lies on the image."""
        body = {
            "model_id": MODEL,
            "image": _image(picture),
            "mask_decode_mode": "fast",
            "response_mask_format": "rle",
        }
        full = client.post(ROUTE, json=body).json()
        assert "mask_metadata" not in full
        reduced = client.post(ROUTE, json=body | {"allow_reduced_mask_resolution": True}).json()
        assert reduced["mask_metadata"]["coordinate_system"] == "mask_grid"
        assert reduced["original_image"] == full["image"]

    @pytest.mark.parametrize(
        ("change", "status", "words"),
        [
            ({"model_id": "parts-seg/8"}, 404, 'did you mean "parts-seg/1"?'),
            ({"model_id": "/etc/passwd"}, 403, "path"),
            ({"model_id": "../../x/1"}, 403, "path"),
            ({"confidence": 7.0}, 400, "confidence"),
            ({"mask_decode_mode": "rough"}, 400, "mask_decode_mode"),
            ({"image": {"type": "base64", "value": "AAAA"}}, 400, "`image`"),
            ({"image": [{"type": "numpy", "value": "x"}]}, 400, "image.[0]"),
            ({"visualize_predictions": True}, 501, "visualize_predictions"),
            ({"model_id": 5}, 400, "model_id"),
        ],
    )
    def test_says_what_is_wrong(
        self, client: TestClient, picture: bytes, change: dict[str, Any], status: int, words: str
    ) -> None:
        """Each fault of a request has its status and names the field."""
        body = {"model_id": MODEL, "image": _image(picture)} | change
        answer = client.post(ROUTE, json=body)
        assert answer.status_code == status, answer.text
        assert words in answer.json()["message"]

    def test_sends_models_to_their_route(self, client: TestClient, picture: bytes) -> None:
        """A model of another task is refused with the route to use."""
        body = {"model_id": MODEL, "image": _image(picture)}
        answer = client.post("/infer/object_detection", json=body)
        assert answer.status_code == 400
        assert answer.json()["message"].endswith("Use /infer/instance_segmentation.")

    def test_takes_so_many_images(self, make_app: Any, picture: bytes) -> None:
        """More images than `max_batch` are refused before one is decoded."""
        with TestClient(make_app(max_batch=2)) as client:
            body = {"model_id": MODEL, "image": [_image(picture)] * 3}
            answer = client.post(ROUTE, json=body)
        assert answer.status_code == 413
        assert "at most 2 images, got 3" in answer.json()["message"]


class TestInferByPath:
    def test_takes_base64_forms_and_bytes(self, client: TestClient, picture: bytes) -> None:
        """Three ways to send an image, one answer."""
        text = base64.b64encode(picture).decode()
        expected = _boxes(
            client.post(ROUTE, json={"model_id": MODEL, "image": _image(picture)}).json()
        )
        answers = [
            client.post(f"/{MODEL}?api_key=k", content=text),
            client.post(f"/{MODEL}", content=text, headers={"Content-Type": "application/json"}),
            client.post(
                f"/{MODEL}",
                content=text,
                headers={"Content-Type": "application/x-www-form-urlencoded"},
            ),
            client.post(f"/{MODEL}", files={"file": ("coins.jpg", picture, "image/jpeg")}),
            client.post(f"/{MODEL}", content=picture, headers={"Content-Type": "image/jpeg"}),
        ]
        for answer in answers:
            assert answer.status_code == 200, answer.text
            assert _boxes(answer.json()) == expected

    def test_takes_percent_and_fractions(self, client: TestClient, picture: bytes) -> None:
        """confidence=60 and confidence=0.6 are the same threshold."""
        text = base64.b64encode(picture).decode()
        percent = client.post(f"/{MODEL}?confidence=60&overlap=30", content=text).json()
        fraction = client.post(f"/{MODEL}?confidence=0.6&overlap=0.3", content=text).json()
        body = {"model_id": MODEL, "image": _image(picture), "confidence": 0.6}
        named = client.post(ROUTE, json=body).json()
        assert _boxes(percent) == _boxes(fraction) == _boxes(named)

    @pytest.mark.parametrize(
        ("query", "content", "status", "words"),
        [
            ("confidence=140", b"AAAA", 400, "confidence"),
            ("max_detections=few", b"AAAA", 400, "max_detections"),
            ("allow_reduced_mask_resolution=maybe", b"AAAA", 400, "must be true or false"),
            ("format=image", b"AAAA", 501, "format"),
            ("", b"", 400, "the body is empty"),
            ("", b"\xff\xd8\xff", 400, "no base64"),
            ("image=http://127.0.0.1/a.jpg", b"", 400, "does not permit"),
        ],
    )
    def test_says_what_is_wrong(
        self, client: TestClient, query: str, content: bytes, status: int, words: str
    ) -> None:
        """Each fault of a query or body has its status and names it."""
        answer = client.post(f"/{MODEL}?{query}", content=content)
        assert answer.status_code == status, answer.text
        assert words in answer.json()["message"]


class TestRegistry:
    def test_adds_lists_and_removes(self, client: TestClient) -> None:
        """The registry holds what is in memory."""
        assert client.get("/model/registry").json() == {"models": []}
        added = client.post("/model/add", json={"model_id": MODEL}).json()
        assert added["models"] == [
            {
                "model_id": MODEL,
                "task_type": "instance-segmentation",
                "task": "instance-segmentation",
                "batch_size": None,
                "input_height": 384,
                "input_width": 384,
            }
        ]
        assert client.get("/model/registry").json() == added
        assert client.post("/model/remove", json={"model_id": MODEL}).json() == {"models": []}
        client.post("/model/add", json={"model_id": MODEL, "model_type": "instance-segmentation"})
        assert client.post("/model/clear", json={}).json() == {"models": []}

    def test_says_what_is_wrong(self, client: TestClient) -> None:
        """Unknown models are 404, a wrong type 400."""
        assert client.post("/model/add", json={"model_id": "no/1"}).status_code == 404
        assert client.post("/model/remove", json={"model_id": "no/1"}).status_code == 404
        body = {"model_id": MODEL, "model_type": "classification"}
        answer = client.post("/model/add", json=body)
        assert answer.status_code == 400
        assert "does instance-segmentation" in answer.json()["message"]


class TestInfo:
    def test_names_the_server(self, client: TestClient) -> None:
        """Name, version and the id of this very server."""
        info = client.get("/info").json()
        assert info["name"] == "weftlens"
        assert info["uuid"] == client.get("/info").json()["uuid"]

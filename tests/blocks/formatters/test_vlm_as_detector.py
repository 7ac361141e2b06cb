"""`vlm_as_detector@v1` and `@v2`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import supervision as sv
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from blocks.formatters.vlm_as_detector.uploads import claude_upload, openai_upload
from blocks.formatters.vlm_as_detector.v1 import VLMAsDetectorBlockV1, VLMAsDetectorManifestV1
from blocks.formatters.vlm_as_detector.v2 import VLMAsDetectorBlockV2, VLMAsDetectorManifestV2
from execution_engine.errors import InvalidFieldValueError
from tests.blocks.detection_sets import a_crop, an_image

CLASSES = ["cat", "dog"]
MODELS = ["openai", "google-gemini", "anthropic-claude", "spacexai", "qwen", "muse", "zai",
          "zai-flash"]  # fmt: skip
LENIENT = ["qwen", "muse", "zai", "zai-flash"]


def run(
    answer: Any,
    model: str = "google-gemini",
    task: str = "object-detection",
    size: tuple[int, int] = (480, 640),
    classes: Any = CLASSES,
) -> dict[str, Any]:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    block = VLMAsDetectorBlockV2()
    result: Any = block.run(an_image(size, channels=1), text, classes, model, task)
    return result


def boxes(answer: Any, model: str, size: tuple[int, int] = (480, 640)) -> list[list[float]]:
    result = run(answer, model, size=size)
    assert result["error_status"] is False
    found: list[list[float]] = result["predictions"].xyxy.tolist()
    return found


def named(*corners: float, **more: Any) -> dict[str, Any]:
    return {**dict(zip(("x_min", "y_min", "x_max", "y_max"), corners, strict=True)), **more}


class TestModels:
    @pytest.mark.parametrize(
        ("model", "entry", "expected"),
        [
            ("google-gemini", {"box_2d": [100, 200, 300, 400]}, [128, 48, 256, 144]),
            ("google-gemini", {"box_2d": [-50, 200, 1200, 400]}, [128, -24, 256, 576]),
            ("google-gemini", named(0.1, 0.2, 0.3, 0.4), [64, 96, 192, 192]),
            ("google-gemini", named(0, 0, 0, 0, box_2d=[0, 0, 1000, 1000]), [0, 0, 640, 480]),
            ("openai", {"box_2d": [10, 20, 100, 200]}, [10, 20, 100, 200]),
            ("openai", {"box_2d": [-5, 20, 700, 500]}, [0, 20, 640, 480]),
            ("openai", named(0.1, 0.2, 0.3, 0.4), [64, 96, 192, 192]),
            ("anthropic-claude", {"box_2d": [10, 20, 100, 200]}, [10, 20, 100, 200]),
            ("anthropic-claude", named(0.1, 0.2, 0.3, 0.4), [64, 96, 192, 192]),
            ("spacexai", {"box_2d": [10, 20, 50, 80]}, [64, 96, 320, 384]),
            ("spacexai", {"box_2d": [10, 20, 150, 120]}, [64, 96, 640, 480]),
            ("qwen", {"box_2d": [100, 200, 500, 1000]}, [64, 96, 320, 480]),
            ("qwen", {"bbox_2d": [-9, 0, 500, 1500]}, [0, 0, 320, 480]),
            ("zai", {"box_2d": [100, 200, 500, 1000]}, [64, 96, 320, 480]),
            ("zai-flash", {"box_2d": [100, 200, 500, 1000]}, [128, 48, 640, 240]),
            ("zai-flash", {"bbox_2d": [100, 200, 500, 1000]}, [64, 96, 320, 480]),
            ("muse", named(100, 200, 300, 400), [64, 96, 192, 192]),
        ],
    )
    def test_box(self, model: str, entry: dict[str, Any], expected: list[float]) -> None:
        """Each model's numbers become whole px of the image."""
        assert boxes([{**entry, "label": "cat"}], model) == [expected]

    @pytest.mark.parametrize(
        ("model", "size", "box", "expected"),
        [
            ("openai", (2048, 4096), [100, 200, 300, 400], [200, 400, 600, 800]),
            ("openai", (4000, 1000), [256, 1024, 512, 2048], [500, 2000, 1000, 4000]),
            ("anthropic-claude", (3000, 4000), [1106, 830, 2500, 1800], [2000, 1501, 4000, 3000]),
        ],
    )
    def test_box_on_a_smaller_upload(
        self, model: str, size: tuple[int, int], box: list[int], expected: list[int]
    ) -> None:
        """Models that answer in px of what they see are brought back to the image."""
        assert boxes([{"box_2d": box, "label": "cat"}], model, size) == [expected]

    @pytest.mark.parametrize("model", MODELS)
    def test_wrapped_and_alone(self, model: str) -> None:
        """A list, a list under `detections`, and one entry alone are the same."""
        key = "bbox_2d" if model == "zai-flash" else "box_2d"
        entry = {key: [10, 20, 30, 40], "label": "dog", **(named(1, 2, 3, 4))}
        one = boxes([entry], model)
        assert boxes({"detections": [entry]}, model) == boxes(entry, model) == one
        assert boxes([], model) == boxes({"detections": []}, model) == []

    @pytest.mark.parametrize("model", MODELS)
    def test_turned_corners(self, model: str) -> None:
        """Corners that are written the wrong way round make the same box."""
        one, other = ({"bbox_2d": box, "box_2d": box, "label": "cat", **named(*box)}
                      for box in ([10, 20, 30, 40], [30, 40, 10, 20]))  # fmt: skip
        assert boxes([one], model) == boxes([other], model)

    def test_half_pixels(self) -> None:
        """Halves go to the even px, as NumPy rounds."""
        entry = {"class_name": "cat", **named(0.5, 0.5, 0.6, 0.6)}
        expected = (np.array([0.5, 0.5, 0.6, 0.6]) * [200, 101, 200, 101]).round(0)
        assert boxes([entry], "anthropic-claude", (101, 200)) == [expected.tolist()]


class TestRows:
    def test_classes(self) -> None:
        """Ids are places in the list, of repeated names the first; others have -1."""
        entries = [{"box_2d": [1, 2, 3, 4], "label": name} for name in ("dog", "Ünicorn 🦄", "cat")]
        rows = run(entries, classes=["cat", "dog", "cat"])["predictions"]
        assert rows.class_id.tolist() == [1, -1, 0]
        assert rows.data["class_name"].tolist() == ["dog", "Ünicorn 🦄", "cat"]

    @pytest.mark.parametrize(
        ("given", "expected"),
        [(0.5, 0.5), ("0.7", 0.7), (1.98, 1.0), (-3, 0.0), (None, 1.0), (10**400, 1.0)],
    )
    def test_confidence(self, given: Any, expected: float) -> None:
        """Confidences are numbers or text, brought to 0..1."""
        entry = {"box_2d": [1, 2, 3, 4], "label": "cat", "confidence": given}
        assert run([entry])["predictions"].confidence.tolist() == [expected]

    @pytest.mark.parametrize("model", LENIENT)
    def test_no_confidence(self, model: str) -> None:
        """Models that are not asked for one have 1; so have entries without."""
        entry = {"bbox_2d": [1, 2, 3, 4], **named(1, 2, 3, 4), "confidence": 0.2}
        rows = run([entry], model)["predictions"]
        assert rows.confidence.tolist() == [1.0]
        assert rows.data["class_name"].tolist() == ["unknown"]

    def test_lineage(self) -> None:
        """Rows on a crop know its place, and the id of the answer."""
        crop = a_crop(an_image((200, 300)), (100, 50, 200, 150), "c")
        text = json.dumps([{"box_2d": [0, 0, 500, 500], "label": "cat"}])
        result: Any = VLMAsDetectorBlockV2().run(
            crop, text, CLASSES, "google-gemini", "object-detection"
        )
        rows = result["predictions"]
        assert rows.xyxy.tolist() == [[0, 0, 50, 50]]
        assert rows.data["parent_id"].tolist() == ["c"]
        assert rows.data["root_parent_coordinates"].tolist() == [[100, 50]]
        assert rows.data["inference_id"].tolist() == [result["inference_id"]]
        assert rows.data["prediction_type"].tolist() == ["object-detection"]

    def test_no_rows(self) -> None:
        """No objects are detections without rows that know their image."""
        rows = run([])["predictions"]
        assert len(rows) == 0
        assert list(rows.metadata["image_dimensions"]) == [480, 640]
        assert rows.data["class_name"].dtype.kind == "U"


class TestUnreadable:
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize(
        "answer",
        [
            "", "sorry", '{"objects": []}', '{"detections": {}}', "[1, 2]", '[{"label": "cat"}]',
            '[{"label": "cat", "box_2d": [1, 2, 3]}]',
            '[{"label": "cat", "box_2d": [1, 2, 3, "x"]}]',
            '[{"label": "cat", "box_2d": [1, 2, 3, true]}]',
            '[{"label": "cat", "box_2d": [1, 2, 3, NaN]}]',
            '[{"label": "cat", "box_2d": [1, 2, 3, 1e300]}]',
            '[{"label": "cat", "box_2d": "1,2,3,4"}]',
            '[{"label": "cat", "x_min": "0.1", "y_min": 0, "x_max": 1, "y_max": 1}]',
            '[{"label": "cat", "box_2d": [1, 2, 3, 4]}',
        ],
    )  # fmt: skip
    def test_error_status(self, model: str, answer: str) -> None:
        """Nothing is raised; the flag says it and an id is given all the same."""
        result = run(answer, model)
        assert (result["error_status"], result["predictions"]) == (True, None)
        assert len(result["inference_id"]) == 36

    @pytest.mark.parametrize(
        "broken",
        [{"box_2d": [1, 2, 3, 4]}, {"label": "cat"}, 5,
         {"box_2d": [1, 2, 3, 4], "label": "cat", "confidence": "high"}],
    )  # fmt: skip
    def test_one_broken_entry(self, broken: Any) -> None:
        """An entry that cannot be read makes the answer of a strict model unreadable."""
        good = {"box_2d": [1, 2, 3, 4], "label": "cat"}
        assert run([good, broken])["error_status"] is True

    @pytest.mark.parametrize("model", LENIENT)
    def test_passed_over(self, model: str) -> None:
        """Models that are asked for thousandths often break one; the others stay."""
        good = {"bbox_2d": [1, 2, 3, 4], "label": "cat", **named(1, 2, 3, 4)}
        result = run([{"label": "dog"}, "x", good], model)
        assert result["error_status"] is False
        assert result["predictions"].data["class_name"].tolist() == ["cat"]

    @pytest.mark.parametrize("answer", [None, 5, b"[]"])
    def test_no_text(self, answer: Any) -> None:
        """What is neither text nor JSON data cannot be read."""
        result: Any = VLMAsDetectorBlockV1().run(
            an_image(), answer, CLASSES, "google-gemini", "object-detection"
        )
        assert result["error_status"] is True

    def test_data(self) -> None:
        """JSON data that were read before are taken as they are."""
        result: Any = VLMAsDetectorBlockV1().run(
            an_image((100, 100)),
            {"detections": [{"class_name": "dog", **named(0, 0, 1, 1)}]},
            CLASSES,
            "anthropic-claude",
            "object-detection",
        )
        assert result["predictions"].xyxy.tolist() == [[0, 0, 100, 100]]

    @given(
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(
                    st.sampled_from(["detections", "box_2d", "label", "x_min", "bboxes"]), inner
                )
            ),
            max_leaves=12,
        ),
        st.sampled_from([*MODELS, "florence-2"]),
    )
    def test_any_data(self, data: Any, model: str) -> None:
        """No data raise."""
        result: Any = VLMAsDetectorBlockV2().run(
            an_image((9, 9)), data, CLASSES, model, "object-detection"
        )
        assert result["error_status"] is (result["predictions"] is None)


class TestFlorence:
    BOXES = [[4.0, 30.85, 70.5, 90.25], [0.4, 9.1, 52.8, 56.5]]

    @pytest.mark.parametrize(
        ("task", "mark", "labels", "ids"),
        [
            ("object-detection", "<OD>", "labels", [7725, 5324]),
            ("phrase-grounded-object-detection", "<CAPTION_TO_PHRASE_GROUNDING>", "labels",
             [7725, 5324]),
            ("object-detection-and-caption", "<DENSE_REGION_CAPTION>", "labels", [0, 0]),
            ("open-vocabulary-object-detection", "<OPEN_VOCABULARY_DETECTION>", "bboxes_labels",
             [1, -1]),
        ],
    )  # fmt: skip
    def test_boxes(self, task: str, mark: str, labels: str, ids: list[int]) -> None:
        """Boxes and names as supervision reads them, not rounded."""
        answer = {"bboxes": self.BOXES, labels: ["cat", "dog"]}
        expected = sv.Detections.from_vlm(
            sv.VLM.FLORENCE_2, result={mark: answer}, resolution_wh=(640, 480)
        )
        for given_answer in (answer, {mark: answer}):
            rows = run(given_answer, "florence-2", task, classes=["x", "cat"])["predictions"]
            assert np.array_equal(rows.xyxy, expected.xyxy)
            assert rows.data["class_name"].tolist() == expected.data["class_name"].tolist()
            assert rows.class_id.tolist() == ids
            assert rows.confidence.tolist() == [1, 1]

    def test_regions(self) -> None:
        """Regions have no names."""
        answer = {"bboxes": self.BOXES, "labels": ["", ""]}
        rows = run(answer, "florence-2", "region-proposal", classes=None)["predictions"]
        assert rows.data["class_name"].tolist() == ["roi", "roi"]
        assert rows.class_id.tolist() == [0, 0]

    def test_text(self) -> None:
        """Text has turned boxes, and upright ones around them as supervision makes them."""
        quads = [[10, 12, 50, 10, 52, 30, 12, 32], [60, 60, 90, 60, 90, 70, 60, 70]]
        answer = {"quad_boxes": quads, "labels": ["</s>What is", "OCR"]}
        expected = sv.Detections.from_vlm(
            sv.VLM.FLORENCE_2, result={"<OCR_WITH_REGION>": answer}, resolution_wh=(640, 480)
        )
        rows = run(answer, "florence-2", "ocr-with-text-detection", classes=[])["predictions"]
        assert np.array_equal(rows.xyxy, expected.xyxy)
        assert np.array_equal(rows.data["xyxyxyxy"], expected.data["xyxyxyxy"])
        assert rows.data["class_name"].tolist() == ["What is", "OCR"]  # marks of the model go

    @pytest.mark.parametrize(
        "answer",
        [
            [], {}, {"bboxes": [[1, 2, 3, 4]]}, {"bboxes": [[1, 2, 3]], "labels": ["a"]},
            {"bboxes": [[1, 2, 3, 4]], "labels": [5]},
            {"bboxes": [[1, 2, 3, None]], "labels": ["a"]},
            {"bboxes": "x", "labels": []}, {"<OD>": 5},
        ],
    )  # fmt: skip
    def test_unreadable(self, answer: Any) -> None:
        """Other answers set the flag."""
        assert run(answer, "florence-2")["error_status"] is True

    @pytest.mark.parametrize("task", ["object-detection", "ocr-with-text-detection"])
    def test_nothing_found(self, task: str) -> None:
        """No boxes are no rows."""
        answer = {"bboxes": [], "quad_boxes": [], "labels": []}
        assert len(run(answer, "florence-2", task)["predictions"]) == 0


class TestUploads:
    @pytest.mark.parametrize(
        ("size", "expected"),
        [((480, 640), (480, 640)), ((2048, 4096), (1024, 2048)), ((2000, 3000), (1365, 2048)),
         ((1, 90_000), (1, 2048))],
    )  # fmt: skip
    def test_openai(self, size: tuple[int, int], expected: tuple[int, int]) -> None:
        """The longer side is 2048 px at most."""
        assert openai_upload(size) == expected

    @pytest.mark.parametrize(
        ("size", "expected"),
        [((480, 640), (480, 640)), ((3000, 4000), (1659, 2212)), ((4000, 3000), (2212, 1659)),
         ((1, 90_000), (1, 2576))],
    )  # fmt: skip
    def test_claude(self, size: tuple[int, int], expected: tuple[int, int]) -> None:
        """Sizes from the vendor's rule."""
        assert claude_upload(size) == expected

    @given(st.integers(1, 9000), st.integers(1, 9000))
    def test_claude_takes_no_more(self, height: int, width: int) -> None:
        """The upload fits and one px more on its longer side does not."""

        def fits(size: tuple[int, int]) -> bool:
            tiles = [int(np.ceil(side / 28)) for side in size]
            return max(tiles) <= 92 and tiles[0] * tiles[1] <= 4784

        upload = claude_upload((height, width))
        assert fits(upload)
        if upload != (height, width):
            longest = max(upload) + 1
            larger = tuple(max(round(side * longest / max(height, width)), 1)
                           for side in (height, width))  # fmt: skip
            assert not fits((larger[0], larger[1]))


class TestManifest:
    STEP = {"name": "s", "image": "$inputs.image", "vlm_output": "$steps.vlm.output",
            "classes": ["a"], "model_type": "google-gemini",
            "task_type": "object-detection"}  # fmt: skip

    def test_models(self) -> None:
        """The second version knows more models."""
        newer = {**self.STEP, "model_type": "qwen"}
        VLMAsDetectorManifestV2(type="roboflow_core/vlm_as_detector@v2", **newer)
        with pytest.raises(ValidationError, match="model_type"):
            VLMAsDetectorManifestV1(type="roboflow_core/vlm_as_detector@v1", **newer)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"task_type": "region-proposal"},
             "answers of google-gemini to the task region-proposal cannot be read; of models "
             "other than florence-2 only those to object-detection can"),
            ({"classes": None}, "`classes` must be given for every model but florence-2"),
        ],
    )  # fmt: skip
    def test_refused(self, changed: dict[str, Any], message: str) -> None:
        """Tasks a model cannot do, and models that need classes."""
        for version, manifest in enumerate((VLMAsDetectorManifestV1, VLMAsDetectorManifestV2), 1):
            step = {**self.STEP, **changed, "type": f"roboflow_core/vlm_as_detector@v{version}"}
            with pytest.raises(ValidationError) as error:
                manifest.model_validate(step)
            assert message in str(error.value)

    def test_florence_without_classes(self) -> None:
        """Florence-2 has its own."""
        step = {**self.STEP, "classes": None, "model_type": "florence-2"}
        VLMAsDetectorManifestV1(type="roboflow_core/vlm_as_detector@v1", **step)

    @pytest.mark.parametrize(
        ("classes", "message"),
        [
            (None, "`classes` must be given for every model but florence-2, got None"),
            ("cat", "Field `classes` must be a list of class names, got 'cat'."),
            ([1], "Field `classes` must be a list of class names, got [1]."),
        ],
    )
    def test_classes_of_a_reference(self, classes: Any, message: str) -> None:
        """Classes that come from elsewhere are checked."""
        with pytest.raises(InvalidFieldValueError) as error:
            run("[]", classes=classes)
        assert str(error.value) == message

"""Representative values of every kind for two successive frames. Tests nothing.

Pictures are named, not stored: `tests/conformance/images.py` draws them.
"""

from __future__ import annotations

from typing import Any

WIDTH, HEIGHT = 120, 80
FRAMES = (0, 1)

# Kinds whose values come one an image; others are parameters of the whole run.
OF_IMAGES = frozenset(
    {
        "image", "object_detection_prediction", "instance_segmentation_prediction",
        "rle_instance_segmentation_prediction", "semantic_segmentation_prediction",
        "keypoint_detection_prediction", "qr_code_detection", "bar_code_detection",
        "classification_prediction", "embedding", "numpy_array", "video_metadata", "*",
        "language_model_output", "image_keypoints", "timestamp", "labeled_points",
    }
)  # fmt: skip

# centre x, y, width, height, class, score
_OBJECTS = (
    (30, 25, 40, 30, "car", 0.9),
    (85, 30, 30, 44, "dog", 0.8),
    (60, 58, 24, 20, "car", 0.7),
)
_CLASS_IDS = {"car": 0, "dog": 1}
_ORIGIN = {"offset_x": 0, "offset_y": 0, "width": WIDTH, "height": HEIGHT}


def picture(frame: int, name: str | None = None, **arguments: Any) -> dict[str, Any]:
    """A picture as a frame of a video; without a name one of the size that predictions are for."""
    if name is None:
        name, arguments = "four_colors", {"w": WIDTH, "h": HEIGHT}
    return {"$image": name, "args": arguments, "video_metadata": video_metadata(frame)}


def video_metadata(frame: int) -> dict[str, Any]:
    """Metadata of frame 0, 1, ... of a file of ten frames a second."""
    return {
        "video_identifier": "cam-1",
        "frame_number": frame + 1,
        "frame_timestamp": f"2026-01-01T00:00:00.{frame + 1}00000+00:00",
        "fps": 10,
        "comes_from_video_file": True,
    }


def detections(frame: int, *, masks: bool = False, points: bool = False) -> dict[str, Any]:
    """Three objects that move to the right by 6 px a frame and are tracked."""
    rows = []
    for index, (x, y, width, height, name, score) in enumerate(_OBJECTS):
        x += 6 * frame
        left, top, right, bottom = x - width / 2, y - height / 2, x + width / 2, y + height / 2
        row: dict[str, Any] = {
            "x": x, "y": y, "width": width, "height": height, "confidence": score, "class": name,
            "class_id": _CLASS_IDS[name], "tracker_id": index + 1,
            "detection_id": f"00000000-0000-4000-8000-0000000{frame}000{index}",
            "parent_id": "image", "parent_origin": _ORIGIN,
            "root_parent_id": "image", "root_parent_origin": _ORIGIN,
        }  # fmt: skip
        if masks:
            corners = [(x, top), (right - 1, y), (x, bottom - 1), (left, y)]
            row["points"] = [{"x": px, "y": py} for px, py in corners]
        if points:
            row["keypoints"] = [
                {"class_id": slot, "class": label, "confidence": 0.9 - slot / 10, "x": px, "y": py}
                for slot, (label, px, py) in enumerate(
                    [("head", x, top + 4), ("left", left + 3, y), ("right", right - 3, y)]
                )
            ]
        rows.append(row)
    return {"$detections": {"image": {"width": WIDTH, "height": HEIGHT}, "predictions": rows}}


def classification(frame: int) -> dict[str, Any]:
    """A prediction of a classifier."""
    classes = [("cat", 1, 0.8), ("dog", 0, 0.2)] if frame == 0 else [("dog", 0, 0.6)]
    rows = [{"class": name, "class_id": number, "confidence": score}
            for name, number, score in classes]  # fmt: skip
    return {
        "image": {"width": WIDTH, "height": HEIGHT}, "predictions": rows, "top": rows[0]["class"],
        "confidence": rows[0]["confidence"], "parent_id": "image", "root_parent_id": "image",
        "prediction_type": "classification",
        "inference_id": "00000000-0000-4000-8000-00000000000f",
    }  # fmt: skip


def value_of(kind: str, frame: int) -> Any:
    """A value of a kind at a frame.

    Raises:
        KeyError: there is none for this kind.
    """
    if kind == "image":
        return picture(frame)
    if kind == "video_metadata":
        return video_metadata(frame)
    if kind in ("instance_segmentation_prediction", "rle_instance_segmentation_prediction",
                "semantic_segmentation_prediction"):  # fmt: skip
        return detections(frame, masks=True)
    if kind == "keypoint_detection_prediction":
        return detections(frame, points=True)
    if kind.endswith(("_prediction", "_code_detection")) and kind != "classification_prediction":
        return detections(frame)
    if kind == "classification_prediction":
        return classification(frame)
    return {
        "*": f"value {frame}",
        "boolean": True,
        "dictionary": {"car": 0.5},
        "embedding": {"$array": [0.1, 0.2, 0.3 + frame]},
        "float": 1.5,
        "float_zero_to_one": 0.5,
        "integer": 2,
        "language_model_output": f'{{"name": "screw", "count": {frame + 3}}}',
        "list_of_values": ["car"],
        "numpy_array": {"$array": [[0.0, 0.5, 1.0], [0.25, 0.75, frame / 2]]},
        "rgb_color": "#4080c0",
        "roboflow_project": "parts",
        "secret": "a secret",
        "string": "some text",
        "timestamp": "2026-01-01T00:00:00+00:00",
        "zone": [[10, 10], [100, 10], [100, 70], [10, 70]],
    }[kind]

"""Sessions, definitions and pictures that the tests of `workflows` share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from workflows import Session, WeftlensSettings


@pytest.fixture
def session() -> Iterator[Session]:
    """A session with the default settings, whatever the environment of the tests holds."""
    with Session(WeftlensSettings()) as made:
        yield made


@pytest.fixture
def blur_definition() -> dict[str, Any]:
    """Blurs an image by a parameter and gives it back."""
    return {
        "version": "1.0",
        "inputs": [
            {"type": "WorkflowImage", "name": "image"},
            {
                "type": "WorkflowParameter",
                "name": "kernel",
                "kind": ["integer"],
                "default_value": 3,
            },
        ],
        "steps": [
            {
                "type": "roboflow_core/image_blur@v1",
                "name": "blur",
                "image": "$inputs.image",
                "blur_type": "average",
                "kernel_size": "$inputs.kernel",
            }
        ],
        "outputs": [{"type": "JsonField", "name": "blurred", "selector": "$steps.blur.image"}],
    }


@pytest.fixture
def remembering_definition() -> dict[str, Any]:
    """Gives back what was stored before (False at first), then stores the parameter `value`."""
    return {
        "version": "1.0",
        "inputs": [
            {"type": "WorkflowImage", "name": "image"},
            {"type": "WorkflowParameter", "name": "value"},
        ],
        "steps": [
            {
                "type": "roboflow_core/cache_get@v1",
                "name": "before",
                "image": "$inputs.image",
                "key": "seen",
            },
            {
                "type": "roboflow_core/cache_set@v1",
                "name": "store",
                "image": "$inputs.image",
                "key": "seen",
                "value": "$inputs.value",
            },
        ],
        "outputs": [{"type": "JsonField", "name": "before", "selector": "$steps.before.output"}],
    }


@pytest.fixture
def broken_definition() -> dict[str, Any]:
    """Four steps: a good one, one of a plug-in that is not installed, one not in this build and one
    with a wrong value.
    """
    return {
        "version": "1.0",
        "inputs": [{"type": "WorkflowImage", "name": "image"}],
        "steps": [
            {"type": "roboflow_core/image_blur@v1", "name": "blur", "image": "$inputs.image"},
            {
                "type": "acme/rust_detector@v2",
                "name": "rust",
                "picture": "$steps.blur.image",
                "tuning": {"areas": ["$steps.gray.image"]},
            },
            {
                "type": "roboflow_core/google_gemini@v1",
                "name": "ask",
                "images": "$inputs.image",
            },
            {"type": "roboflow_core/convert_grayscale@v1", "name": "gray", "image": 7},
        ],
        "outputs": [
            {"type": "JsonField", "name": "rust", "selector": "$steps.rust.predictions"},
            {"type": "JsonField", "name": "blurred", "selector": "$steps.blur.image"},
        ],
    }


@pytest.fixture
def picture() -> np.ndarray:
    """A 24 x 32 BGR picture without two equal rows."""
    return np.random.default_rng(3).integers(0, 256, (24, 32, 3), dtype=np.uint8)


@pytest.fixture
def workflow_file(tmp_path: Path, blur_definition: dict[str, Any]) -> Path:
    """The blur definition as a file."""
    path = tmp_path / "blur.json"
    path.write_text(json.dumps(blur_definition), encoding="utf-8")
    return path


@pytest.fixture
def picture_file(tmp_path: Path, picture: np.ndarray) -> Path:
    """The picture as a PNG file whose name is not ASCII."""
    path = tmp_path / "münzen 硬币.png"
    path.write_bytes(cv2.imencode(".png", picture)[1].tobytes())
    return path

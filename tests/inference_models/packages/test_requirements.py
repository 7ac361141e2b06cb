"""The keys of a package that say what it needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inference_models.errors import CorruptedModelPackageError
from inference_models.packages import ModelConfig, load_package
from inference_models.packages.requirements import parse_version

MADE_HERE = {"cuda_device_cc": "9.0", "trt_version": "10.3.0.26"}


class TestRequirements:
    """The keys of `model_config.json` that say what a package needs."""

    @pytest.mark.parametrize(
        ("text", "version"),
        [("10.3.0.26", (10, 3, 0, 26)), ("2.13.0+cpu", (2, 13, 0)), ("8.9", (8, 9)), ("12", (12,))],
    )
    def test_versions(self, text: str, version: tuple[int, ...]) -> None:
        """The leading numbers count."""
        assert parse_version(text) == version
        with pytest.raises(ValueError, match="must begin with numbers"):
            parse_version(f"v{text}")

    @pytest.mark.parametrize(
        "facts",
        [
            {"quantization": "fp8"},
            {"trusted_source": "maybe"},
            {"environment_requirements": {"cuda_device_cc": "ninety"}},
            {"environment_requirements": {}},
            {"onnx_package_details": {"opset": 0}},
            {"trt_package_details": {"max_dynamic_batch_size": -1}},
            {"torch_script_package_details": {"supported_device_types": ["cpu"]}},
        ],
    )
    def test_wrong_types(self, facts: Any, networks: Any, tmp_path: Path) -> None:
        """A value of another type is a fault of the package, with file and key."""
        networks.directory(tmp_path, networks.config(**facts), networks.anchor_free)
        with pytest.raises(
            CorruptedModelPackageError, match=f"model_config.json.*{next(iter(facts))}"
        ):
            load_package(tmp_path)

    def test_written_as_read(self, networks: Any) -> None:
        """A configuration that is written keeps its requirements."""
        facts = {"environment_requirements": MADE_HERE, "quantization": "fp16"}
        config = ModelConfig.model_validate(networks.config(**facts))
        again = ModelConfig.model_validate(json.loads(config.model_dump_json(by_alias=True)))
        assert again.requirements == config.requirements
        made_on = again.requirements.environment_requirements
        assert made_on is not None
        assert made_on.trt_version == (10, 3, 0, 26)

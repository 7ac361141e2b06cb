"""Names and families of native packages, and their opening. Needs no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from inference_models.errors import ModelImplementationNotFoundError
from inference_models.families import BUILT_IN_FAMILIES
from inference_models.families.native import NATIVE_FAMILIES
from inference_models.families.native.table import has_package_task, package_task
from inference_models.packages import Task


class TestNativeFamilies:
    """`NATIVE_FAMILIES`."""

    def test_final_rows_are_not_suppressed(self) -> None:
        """The one-to-one branch answers once for each object, the other one does not."""
        by_name = {
            (family.architectures, family.task): family.suppression for family in NATIVE_FAMILIES
        }
        assert len(by_name) == len(NATIVE_FAMILIES) == 6 + has_package_task("oriented")
        for (names, _), suppression in by_name.items():
            assert suppression == ("none" if names == ("native",) else "nms")

    def test_names_are_free(self) -> None:
        """No family of other networks has the names."""
        others = [one for one in BUILT_IN_FAMILIES if one not in NATIVE_FAMILIES]
        taken = {name for family in others for name in family.architectures}
        assert not taken & {name for family in NATIVE_FAMILIES for name in family.architectures}


class TestPackageTask:
    """`package_task`."""

    @pytest.mark.parametrize(
        ("task", "expected"),
        [
            ("detect", Task.OBJECT_DETECTION),
            ("segment", Task.INSTANCE_SEGMENTATION),
            ("pose", Task.KEYPOINT_DETECTION),
        ],
    )
    def test_tasks(self, task: str, expected: Task) -> None:
        """Each task of the detector is one of models."""
        assert package_task(task) is expected  # type: ignore[arg-type]

    @pytest.mark.skipif(has_package_task("oriented"), reason="models have the task")
    def test_rotated_boxes(self) -> None:
        """While models have no task of rotated boxes, no package can be one."""
        with pytest.raises(
            ModelImplementationNotFoundError,
            match='models have no task "oriented-object-detection", they have object-detection',
        ):
            package_task("oriented")


class TestOpening:
    """`native_backends` where torch is missing."""

    def test_names_the_extra(self, tmp_path: Path) -> None:
        """A package of torch weights says what to install."""
        config = {
            "model_architecture": "native",
            "backend_type": "torch",
            "task_type": "object-detection",
            "weights": "weights.safetensors",
            "class_names": ["cat"],
            "inference_config": {
                "network_input": {"training_input_size": {"height": 64, "width": 64}}
            },
        }
        (tmp_path / "model_config.json").write_text(json.dumps(config))
        (tmp_path / "weights.safetensors").write_bytes(b"")
        code = (
            "import sys; sys.modules['torch'] = None\n"
            "from inference_models.families.native import NATIVE_FAMILIES, native_backends\n"
            "from inference_models.manager import ModelManager\n"
            "manager = ModelManager(backends=native_backends(), families=NATIVE_FAMILIES)\n"
            "try:\n"
            f"    manager.warm_up({str(tmp_path)!r})\n"
            "except Exception as error:\n"
            "    print(type(error).__name__, error)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith("MissingDependencyError torch is needed to run")
        assert "pip install 'weftlens[torch]'" in done.stdout

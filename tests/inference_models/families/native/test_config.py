"""The configuration of a native detector. Needs no torch."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from inference_models.errors import InvalidModelInitParameterError
from inference_models.families.native import SCALES, DetectorConfig, Scale


class TestScale:
    """`Scale`."""

    @pytest.mark.parametrize(
        ("name", "channels", "repeats"),
        [
            ("n", [16, 128, 256], 1),
            ("s", [32, 256, 512], 1),
            ("m", [64, 512, 512], 1),
            ("l", [64, 512, 512], 2),
            ("x", [96, 768, 768], 2),
        ],
    )
    def test_limit_comes_before_the_factor(
        self, name: str, channels: list[int], repeats: int
    ) -> None:
        """Channels are min(base, limit) times width; repeats are twice the depth."""
        scale = SCALES[name]
        assert [scale.channels(base) for base in (64, 512, 1024)] == channels
        assert scale.repeats == repeats

    def test_a_stage_has_a_unit_at_any_depth(self) -> None:
        """Repeats never round to zero."""
        assert Scale(0.1, 1.0, 512).repeats == 1


class TestDetectorConfig:
    """`DetectorConfig`."""

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (("detct", "n", 3), r'task must be one of detect, segment, oriented, pose, got "detct" '
             r'\(did you mean "detect"\?\)'),
            (("detect", "z", 3), 'scale must be one of p, t, n, s, m, l, x, got "z"'),
            (("detect", "n", 0), "class_count must be a whole number of at least 1, got 0"),
            (("detect", "n", True), "class_count must be a whole number of at least 1, got True"),
            (("detect", "n", 3, 17), 'keypoint_count must be 0 for the task "detect", got 17'),
            (("pose", "n", 3), 'keypoint_count must be at least 1 for the task "pose", got 0'),
            (("segment", "n", 3, 0, -1), "mask_channels must be a whole number of at least 1"),
        ],
    )  # fmt: skip
    def test_refuses(self, values: tuple[Any, ...], message: str) -> None:
        """A value that cannot be is named with what is expected."""
        with pytest.raises(InvalidModelInitParameterError, match=message):
            DetectorConfig(*values)

    @pytest.mark.parametrize(
        ("config", "extras"),
        [
            (DetectorConfig("detect", "n", 80), 0),
            (DetectorConfig("oriented", "n", 15), 0),
            (DetectorConfig("segment", "p", 2, mask_channels=16), 16),
            (DetectorConfig("pose", "x", 1, keypoint_count=17), 51),
        ],
    )
    def test_survives_json(self, config: DetectorConfig, extras: int) -> None:
        """What is written is read back, and says how long a row is."""
        assert DetectorConfig.from_json(config.to_json()) == config
        assert config.row_extras == extras

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", "is no JSON"),
            ("[]", "must name task, scale and class_count, got"),
            ('{"task": "detect"}', "must name task, scale and class_count"),
            (
                '{"task": "detect", "scale": "n", "class_count": 1, "keypoints_count": 2}',
                r'has no "keypoints_count": .* \(did you mean "keypoint_count"\?\)',
            ),
        ],
    )
    def test_refuses_text(self, text: str, message: str) -> None:
        """A text that is no configuration raises what is wrong with it."""
        with pytest.raises(InvalidModelInitParameterError, match=message):
            DetectorConfig.from_json(text)


class TestImport:
    """The package `inference_models.families.native`."""

    def test_loads_no_torch(self) -> None:
        """Families, openers and configuration are there without torch."""
        code = (
            "import sys; sys.modules['torch'] = None\n"
            "from inference_models.families.native import NATIVE_FAMILIES, native_backends\n"
            "import inference_models.families.native.oriented\n"
            "print(len(NATIVE_FAMILIES) >= 6, sorted(native_backends()))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "True ['torch']"

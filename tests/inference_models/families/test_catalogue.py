"""The table of families."""

from __future__ import annotations

from typing import Any

import pytest

from inference_models.families import BUILT_IN_FAMILIES, family_of
from inference_models.packages import Task


class TestFamilyOf:
    """`family_of`."""

    def test_no_two_families_share_a_name(self) -> None:
        """A name and a task point at one row of the table."""
        pairs = [(name, one.task) for one in BUILT_IN_FAMILIES for name in one.architectures]
        assert len(pairs) == len(set(pairs))
        assert {one.task for one in BUILT_IN_FAMILIES} == set(Task)

    def test_an_unknown_family_is_named(self, make_package: Any) -> None:
        """The error shows the known names of the task and the nearest one."""
        package = make_package("yolov88", "object-detection")
        with pytest.raises(Exception, match=r'no family "yolov88".*did you mean "yolov8"'):
            family_of(package)

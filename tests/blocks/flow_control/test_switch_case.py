"""`switch_case@v1`."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from blocks.flow_control.switch_case.v1 import SwitchCaseBlockV1, SwitchCaseManifest

CASES = {"1": "$steps.one", "Red": "$steps.red", "True": "$steps.tr", "None": "$steps.no"}
OTHER = ["$steps.oth"]


class TestRun:
    @pytest.mark.parametrize(
        ("value", "insensitive", "targets"),
        [
            (1, False, ["$steps.one"]),
            (1.0, False, OTHER),  # the text of a fraction has a point
            (True, False, ["$steps.tr"]),
            (None, False, ["$steps.no"]),
            ("Red", False, ["$steps.red"]),
            ("RED", False, OTHER),
            ("RED", True, ["$steps.red"]),
            ("TRUE", True, ["$steps.tr"]),
            ("blue", True, OTHER),
        ],
    )
    def test_case_by_text(self, value: Any, insensitive: bool, targets: list[str]) -> None:
        """The case equal to the text of the value is taken, else the default."""
        result = SwitchCaseBlockV1().run(value, CASES, insensitive, OTHER)
        assert list(result.targets()) == targets

    def test_no_default_closes_the_branch(self) -> None:
        """Without a fitting case and without a default nothing runs."""
        result = SwitchCaseBlockV1().run("x", CASES, False, [])
        assert list(result.targets()) == []


class TestManifest:
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (
                {"cases": {"a": "$steps.t", "b": "$steps.t"}},
                "$steps.t is the target of the cases 'a' and 'b'",
            ),
            (
                {"cases": {"a": "$steps.t"}, "default_next_steps": ["$steps.t"]},
                "$steps.t is already the target of the case 'a'",
            ),
            ({"default_next_steps": ["$steps.t", "$steps.t"]}, "$steps.t is listed more than once"),
            (
                {"cases": {"A": "$steps.t", "a": "$steps.u"}, "case_insensitive": True},
                "the cases 'A' and 'a' are the same",
            ),
            ({"cases": {"a": "$steps.t.output"}}, "pattern"),
        ],
    )
    def test_ambiguous_targets_are_refused(self, fields: dict[str, Any], message: str) -> None:
        """Each step may be the target of one case, and cases must differ."""
        with pytest.raises(ValidationError) as caught:
            SwitchCaseManifest(type="SwitchCase", name="sw", value="$inputs.v", **fields)
        assert message in str(caught.value)

    @pytest.mark.parametrize("value", ["text", 1, 1.5, True, "$inputs.v"])
    def test_literals_keep_their_type(self, value: Any) -> None:
        """A literal value arrives as it was written: True stays True and 1 stays 1."""
        manifest = SwitchCaseManifest(type="SwitchCase", name="sw", value=value)
        assert manifest.value == value
        assert type(manifest.value) is type(value)

"""`string_template@v1` and its template language."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.formatters.string_template.template import fill_template
from blocks.formatters.string_template.v1 import StringTemplateBlockV1, StringTemplateManifest
from execution_engine.kinds.codec import CodecRegistry

VALUES: dict[str, Any] = {
    "n": 3,
    "score": 0.876,
    "text": "ab",
    "items": ["a", 1],
    "none": None,
    "width": 6,
    "f32": np.float32(0.5),
}


class TestFillTemplate:
    @pytest.mark.parametrize(
        ("template", "expected"),
        [
            ("", ""),
            ("no places", "no places"),
            ("{n} of {n}", "3 of 3"),
            ("{items} {none}", "['a', 1] None"),
            ("{score:.2f}|{n:04d}|{text:>5}", "0.88|0003|   ab"),
            ("{f32:.3f}", "0.500"),
            ("{text!r}", "'ab'"),
            ("{score:{width}.1f}", "   0.9"),
            ('{{"n": {n}}}', '{"n": 3}'),
        ],
    )
    def test_filled(self, template: str, expected: str) -> None:
        """Places are filled with the text or the format that they ask for."""
        assert fill_template(template, VALUES) == expected

    @pytest.mark.parametrize(
        ("template", "message"),
        [
            ("{q}", r"nothing is given for \{q\}; names given: n, score"),
            ("{}", "places need names"),
            ("{0}", "places need names"),
            ("{text.__class__}", "asks for a part of a value"),
            ("{items[0]}", "asks for a part of a value"),
            ("{n", "is malformed"),
            ("n}", "is malformed"),
            ("{n!z}", "unknown conversion !z"),
            ("{items:.2f}", r"a value of type list does not take the format '.2f' at \{items\}"),
            ("{text:999999999}", "asks for more than 10000 characters"),
            ("{n:{q}}", r"nothing is given for \{q\}"),
            ("{n:{width:{n}}}", "nests places too deeply"),
        ],
    )
    def test_refused(self, template: str, message: str) -> None:
        """A template that cannot be filled, or reaches for more than it was given, is an error."""
        with pytest.raises(ValueError, match=message):
            fill_template(template, VALUES)


class TestRun:
    def test_operations_come_first(self) -> None:
        """Values are worked on before they are written."""
        manifest = StringTemplateManifest.model_validate(
            {
                "type": "roboflow_core/string_template@v1",
                "name": "t",
                "template": "{names} ({n})",
                "data": {"names": "$inputs.names", "n": 2},
                "data_operations": {"names": [{"type": "SequenceJoin", "separator": "+"}]},
            }
        )
        result = StringTemplateBlockV1(CodecRegistry()).run(
            "{names} ({n})", {"names": ["a", "b"], "n": 2}, manifest.data_operations
        )
        assert result == {"output": "a+b (2)"}

    def test_data_may_be_left_out(self) -> None:
        """A template without places needs no data."""
        assert StringTemplateBlockV1(CodecRegistry()).run("x", {}, {}) == {"output": "x"}

"""`json_parser@v1`."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from blocks.formatters.json_parser.v1 import JSONParserBlockV1, JSONParserManifest

TYPE = "roboflow_core/json_parser@v1"


class TestRun:
    @pytest.mark.parametrize(
        "text",
        [
            '{"a": 1, "b": [2]}',
            '  {"a": 1, "b": [2]}\n',
            'Here you are:\n```json\n{"a": 1, "b": [2]}\n```\nAnything else?',
            '```JSON\n{"a": 1, "b": [2]}```',
            '```json\r\n{"a": 1, "b": [2]}\r\n```',
            '```json\n{"a": 1, "b": [2]}\n```\n```json\n{"a": 9}\n```',  # the first block
            '```\n{"a": 1, "b": [2]}\n```',
        ],
    )
    def test_fields_are_read(self, text: str) -> None:
        """Plain and fenced JSON gives its fields."""
        assert JSONParserBlockV1().run(text, ["a", "b"]) == {
            "error_status": False,
            "a": 1,
            "b": [2],
        }

    def test_fence_inside_a_string(self) -> None:
        """Text that is JSON as a whole is not searched for blocks."""
        text = '{"a": "```json {\\"a\\": 2} ```"}'
        assert JSONParserBlockV1().run(text, ["a"]) == {
            "error_status": False,
            "a": '```json {"a": 2} ```',
        }

    def test_missing_field_is_an_error(self) -> None:
        """A field that is not there is None and sets the flag; a field that is null does not."""
        block = JSONParserBlockV1()
        assert block.run('{"a": 1}', ["a", "b"]) == {"error_status": True, "a": 1, "b": None}
        assert block.run('{"a": null}', ["a"]) == {"error_status": False, "a": None}

    @pytest.mark.parametrize(
        "text",
        ["", "no json", "{broken", "[1, 2]", "5", "null", "```json\nbroken\n```", "[" * 100_000],
    )
    def test_no_object_is_an_error(self, text: str) -> None:
        """Text without a JSON object gives empty fields and the flag, and raises nothing."""
        assert JSONParserBlockV1().run(text, ["a"]) == {"error_status": True, "a": None}

    def test_extra_fields_are_left_out(self) -> None:
        """Only the named fields come out."""
        assert JSONParserBlockV1().run('{"a": 1, "c": 2}', []) == {"error_status": False}


class TestManifest:
    def test_outputs_follow_the_fields(self) -> None:
        """The outputs of a step are the flag and its fields."""
        manifest = JSONParserManifest(
            type=TYPE, name="p", raw_json="{}", expected_fields=["a", "b"]
        )
        outputs = [(o.name, o.kind_names) for o in manifest.get_actual_outputs()]
        assert outputs == [("error_status", ("boolean",)), ("a", ("*",)), ("b", ("*",))]

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (["error_status"], "'error_status' is an output of the block itself"),
            (["a", "b", "a"], "fields named more than once: a"),
        ],
    )
    def test_ambiguous_fields_are_refused(self, fields: list[Any], message: str) -> None:
        """Fields must give distinct outputs."""
        with pytest.raises(ValidationError, match=message):
            JSONParserManifest(type=TYPE, name="p", raw_json="{}", expected_fields=fields)

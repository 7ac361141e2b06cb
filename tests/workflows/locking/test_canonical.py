"""Digests of JSON data and of definitions."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from workflows.locking.canonical import definition_digest, json_digest


class TestJsonDigest:
    def test_value(self) -> None:
        """It is the SHA-256 of the data written without spaces and with sorted keys."""
        text = b'{"a":[1,2.5,null],"b":"\\u00e9"}'
        expected = f"sha256:{hashlib.sha256(text).hexdigest()}"
        assert json_digest({"b": "é", "a": [1, 2.5, None]}) == expected

    @pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()])
    def test_no_json(self, value: Any) -> None:
        """What JSON does not have has no digest."""
        with pytest.raises((TypeError, ValueError)):
            json_digest({"a": value})


class TestDefinitionDigest:
    def test_notes_of_editors_do_not_count(self, definition: dict[str, Any]) -> None:
        """Members beside those a run reads change nothing; the order of keys neither."""
        noted = {"$schema": "x.json", "name": "mine", **dict(reversed(definition.items()))}
        assert definition_digest(noted) == definition_digest(definition)

    @pytest.mark.parametrize("key", ["version", "inputs", "steps", "outputs"])
    def test_what_a_run_reads_counts(self, key: str, definition: dict[str, Any]) -> None:
        """Anything a run reads changes the digest."""
        changed = {**definition, key: "1.1" if key == "version" else definition[key][1:]}
        assert definition_digest(changed) != definition_digest(definition)

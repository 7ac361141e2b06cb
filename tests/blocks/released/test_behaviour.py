"""The digests of behaviour and the lines of change that are shipped with the blocks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from blocks.index import behaviour_digests, block_specs, version_changes
from tests.blocks.released.behaviour import HOW, behaviour_digest, behaviour_text, main
from tests.blocks.released.records import read_records

RECORDS = read_records()


class TestBehaviourDigests:
    def test_current(self) -> None:
        """The shipped digests are those of the records."""
        expected = {type_id: behaviour_digest(record) for type_id, record in RECORDS.items()}
        assert behaviour_digests() == expected, HOW

    def test_every_block_has_one(self) -> None:
        """Each block version of the index has a digest, and no other has."""
        how = "run: python -m tests.blocks.released.record"
        assert behaviour_digests().keys() == block_specs().keys(), how


class TestBehaviourDigest:
    @pytest.mark.parametrize("part", ["form", "expect"])
    def test_each_part_counts(self, part: str) -> None:
        """Another form or another output is another digest; the order of keys does not count."""
        record = RECORDS["roboflow_core/image_blur@v1"]
        changed = {**record, part: {**record[part], "more": 1}}
        assert behaviour_digest(changed) != behaviour_digest(record)
        assert behaviour_digest(dict(reversed(record.items()))) == behaviour_digest(record)


class TestMain:
    def test_check_and_write(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A stale file fails the check and says how to write it; a written one passes."""
        path = tmp_path / "behaviour.json"
        assert main(["--check"], path) == 1
        assert capsys.readouterr().err == f"stale: {path}\n{HOW}\n"
        assert main([], path) == 0
        assert path.read_text("utf-8") == behaviour_text(RECORDS)
        assert main(["--check"], path) == 0


class TestVersionChanges:
    def test_every_version_of_a_family_of_several(self) -> None:
        """Each version of a block that has several says in one line what it changed."""
        counts = Counter(type_id.partition("@")[0] for type_id in block_specs())
        expected = {type_id for type_id in block_specs() if counts[type_id.partition("@")[0]] > 1}
        assert version_changes().keys() == expected, "add a line to blocks/changes.json"

    def test_one_line(self) -> None:
        """A line is a short sentence."""
        for type_id, line in version_changes().items():
            assert line == line.strip(), type_id
            assert line.endswith("."), type_id
            assert "\n" not in line, type_id
            assert len(line) <= 130, type_id

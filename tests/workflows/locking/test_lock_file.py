"""The lock file: text, place, schema, and what is refused."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.workflows.locking.conftest import MakeSession
from workflows.locking.errors import WorkflowLockError
from workflows.locking.lock_file import (
    Lock,
    is_lock_path,
    lock_path,
    lock_schema,
    parse_lock,
    read_lock,
    write_lock,
)
from workflows.locking.making import make_lock


@pytest.fixture
def lock(make_session: MakeSession, definition: dict[str, Any]) -> Lock:
    """A lock with something in every part."""
    return make_lock(make_session(), definition)


class TestLock:
    def test_text(self, lock: Lock) -> None:
        """Every value has a line of its own, keys are sorted, and the text reads back."""
        text = lock.to_text()
        data = json.loads(text)
        assert text == json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        assert parse_lock(data) == lock

    def test_holds_no_path_of_this_machine(self, lock: Lock, tmp_path: Path) -> None:
        """Nothing in a lock says where it was made."""
        assert str(tmp_path) not in lock.to_text()
        assert str(Path.cwd()) not in lock.to_text()


class TestLockSchema:
    def test_locks_keep_to_it(self, lock: Lock) -> None:
        """The schema is a valid one, takes a lock, and refuses a member it does not know."""
        schema = lock_schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        data = json.loads(lock.to_text())
        jsonschema.validate(data, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**data, "more": 1}, schema)


class TestLockPath:
    @pytest.mark.parametrize(
        ("workflow", "expected"),
        [
            ("a/shop.json", "a/shop.lock.json"),
            ("shop.v2.json", "shop.v2.lock.json"),
            ("SHOP.JSON", "SHOP.lock.json"),
            ("shop", "shop.lock.json"),
            ("shop.workflow", "shop.workflow.lock.json"),
        ],
    )
    def test_beside_the_workflow(self, workflow: str, expected: str) -> None:
        """The lock lies beside the workflow and is told by its name."""
        assert lock_path(Path(workflow)) == Path(expected)
        assert is_lock_path(lock_path(Path(workflow)))
        assert not is_lock_path(Path(workflow))


class TestParseLock:
    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ([], "The lock must hold a JSON object as `weftlens lock` writes it, got list."),
            ({"steps": [], "inputs": []}, "The lock is a workflow, not the lock of one."),
            (
                {"lock_version": 2},
                "The lock has lock_version 2; this weftlens reads version 1. Make it again with "
                "`weftlens lock`.",
            ),
            (
                {},
                "The lock has lock_version null; this weftlens reads version 1. Make it again with "
                "`weftlens lock`.",
            ),
        ],
    )
    def test_not_a_lock(self, data: Any, message: str) -> None:
        """What is no lock is refused in words."""
        with pytest.raises(WorkflowLockError) as caught:
            parse_lock(data)
        assert str(caught.value) == message

    def test_damaged(self, lock: Lock) -> None:
        """A wrong member is named with its place."""
        data = {**lock.model_dump(), "engine": 7, "extra": 1}
        with pytest.raises(WorkflowLockError) as caught:
            parse_lock(data, "The lock x")
        assert str(caught.value) == (
            "The lock x is damaged: engine: input should be a valid string; extra: extra inputs "
            "are not permitted. Make it again with `weftlens lock`."
        )


class TestReadLock:
    def test_missing(self, tmp_path: Path) -> None:
        """A missing lock says how to make it."""
        with pytest.raises(WorkflowLockError) as caught:
            read_lock(tmp_path / "x.lock.json")
        assert str(caught.value) == (
            f"There is no lock file '{tmp_path}/x.lock.json'; `weftlens lock` makes it."
        )

    @pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 100_000])
    def test_no_json(self, tmp_path: Path, content: bytes) -> None:
        """What is no JSON is refused."""
        path = tmp_path / "x.lock.json"
        path.write_bytes(content)
        with pytest.raises(WorkflowLockError, match="is no JSON"):
            read_lock(path)

    def test_a_folder(self, tmp_path: Path) -> None:
        """A folder is refused."""
        with pytest.raises(WorkflowLockError, match="cannot be read"):
            read_lock(tmp_path)

    def test_what_an_editor_makes_of_it(self, tmp_path: Path, lock: Lock) -> None:
        """A byte order mark and Windows line ends are read."""
        path = tmp_path / "x.lock.json"
        path.write_bytes(b"\xef\xbb\xbf" + lock.to_text().replace("\n", "\r\n").encode())
        assert read_lock(path) == lock


class TestWriteLock:
    def test_round_trip(self, tmp_path: Path, lock: Lock) -> None:
        """What is written reads back; permissions stay, and nothing else is left."""
        path = tmp_path / "locks" / "x.lock.json"
        path.parent.mkdir()
        path.write_text("old", encoding="utf-8")
        path.chmod(0o640)
        write_lock(lock, path)
        assert read_lock(path) == lock
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert [one.name for one in path.parent.iterdir()] == ["x.lock.json"]

    def test_no_folder(self, tmp_path: Path, lock: Lock) -> None:
        """A folder that is not there is said to be missing."""
        with pytest.raises(WorkflowLockError, match="cannot be written: No such file"):
            write_lock(lock, tmp_path / "none" / "x.lock.json")

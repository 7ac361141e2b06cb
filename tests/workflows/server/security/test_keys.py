"""API keys: what is stored of them, which text is one, and what each permits."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from execution_engine.errors import WorkflowEnvironmentConfigurationError
from workflows.cli.main import main
from workflows.server.security.key_file import KeyFile, add_key, read_keys, revoke_key
from workflows.server.security.keys import KeyRing, new_key

NOW = datetime(2030, 1, 1, tzinfo=UTC)


class TestNewKey:
    def test_the_record_does_not_hold_the_key(self) -> None:
        """The secret part is in no field of the record; two keys share nothing."""
        text, key = new_key("camera", ["shop/*"], False)
        secret = text.split("_", 2)[2]
        assert len(secret) >= 43
        assert secret not in repr(key)
        other, _ = new_key("camera", ["shop/*"], False)
        assert other != text


class TestKeyRing:
    def test_a_right_key(self) -> None:
        """The text gives the record of the key."""
        text, key = new_key("a", (), True)
        assert KeyRing([key]).find(text) is key

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text[:-1],
            lambda text: text + "A",
            lambda text: text.upper(),
            lambda text: text.replace("weft_", "weft__"),
            lambda text: text.split("_", 2)[2],
            lambda text: "",
            lambda text: "weft_" + "0" * 12 + "_" + text.split("_", 2)[2],
            lambda text: "\ud800" + text,
            lambda text: text + "x" * 10_000_000,
        ],
    )
    def test_wrong_texts(self, change: object) -> None:
        """Anything but the whole text is no key."""
        text, key = new_key("a", (), True)
        assert KeyRing([key]).find(change(text)) is None  # type: ignore[operator]

    def test_the_end(self) -> None:
        """From its end on a key is refused."""
        text, key = new_key("a", (), True, expires=NOW)
        assert KeyRing([key]).find(text, NOW - timedelta(seconds=1)) is key
        assert KeyRing([key]).find(text, NOW) is None

    def test_a_revoked_key(self) -> None:
        """A withdrawn key is refused."""
        text, key = new_key("a", (), True)
        assert KeyRing([replace(key, revoked=True)]).find(text) is None


class TestPermits:
    @pytest.mark.parametrize(
        ("patterns", "workflow_id", "expected"),
        [
            (["shop/count"], "shop/count", True),
            (["shop/count"], "shop/counter", False),
            (["shop/*"], "shop/count", True),
            (["shop/*"], "bank/count", False),
            (["*"], "shop/count", True),
            ([], "shop/count", False),
            (["Shop/count"], "shop/count", False),
        ],
    )
    def test_stored_workflows(self, patterns: list[str], workflow_id: str, expected: bool) -> None:
        """Ids and patterns, letter by letter."""
        assert new_key("a", patterns, False)[1].permits(workflow_id) is expected

    def test_specifications(self) -> None:
        """Workflows sent along need a right of their own, which `*` is not."""
        assert not new_key("a", ["*"], False)[1].permits(None)
        assert new_key("a", [], True)[1].permits(None)


class TestKeyFile:
    def test_only_the_owner_reads_it(self, tmp_path: Path) -> None:
        """The file is made with the mode 600, whatever the mask of the process."""
        old = os.umask(0)
        try:
            add_key(tmp_path / "keys.json", new_key("a", (), True)[1])
        finally:
            os.umask(old)
        assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600

    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        """Every field of every key survives."""
        path = tmp_path / "keys.json"
        keys = [
            new_key("ä", ["shop/*"], False, NOW)[1],
            replace(new_key("b", (), True)[1], revoked=True),
        ]
        for key in keys:
            add_key(path, key)
        assert read_keys(path) == keys

    def test_changes_are_seen(self, tmp_path: Path) -> None:
        """A revoked key is refused without a restart."""
        path = tmp_path / "keys.json"
        text, key = new_key("a", (), True)
        add_key(path, key)
        file = KeyFile(path)
        assert file.ring().find(text) == key
        revoke_key(path, key.id)
        assert file.ring().find(text) is None

    def test_a_file_that_goes_away(self, tmp_path: Path) -> None:
        """Without its file nobody is let in."""
        path = tmp_path / "keys.json"
        add_key(path, new_key("a", (), True)[1])
        file = KeyFile(path)
        path.unlink()
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="cannot be read"):
            file.ring()

    def test_others_must_not_write_it(self, tmp_path: Path) -> None:
        """Whoever can write the file could let himself in."""
        path = tmp_path / "keys.json"
        add_key(path, new_key("a", (), True)[1])
        path.chmod(0o620)
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="chmod 600"):
            KeyFile(path)

    @pytest.mark.parametrize(
        "content",
        ["", "[]", "{}", '{"format": 2, "keys": []}', '{"format": 1, "keys": [{}]}', "[" * 100_000],
    )
    def test_damaged_files(self, content: str, tmp_path: Path) -> None:
        """Anything else is refused in words, with the name of the file."""
        path = tmp_path / "keys.json"
        path.write_text(content)
        path.chmod(0o600)
        with pytest.raises(WorkflowEnvironmentConfigurationError, match=r"keys\.json' is no file"):
            read_keys(path)

    def test_an_unknown_key_cannot_be_revoked(self, tmp_path: Path) -> None:
        """The message names the id; the file stays."""
        path = tmp_path / "keys.json"
        add_key(path, new_key("a", (), True)[1])
        before = path.read_bytes()
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="no key with the id 'x'"):
            revoke_key(path, "x")
        assert path.read_bytes() == before


class TestCommands:
    def test_make_list_revoke(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The key is printed once; lists and the file show everything but it."""
        path = str(tmp_path / "keys.json")
        options = ["--file", path, "--name", "door", "--workflow", "shop/*", "--days", "2"]
        assert main(["keys", "create", *options]) == 0
        text = capsys.readouterr().out.strip()
        key = KeyFile(Path(path)).ring().find(text)
        assert key is not None
        assert key.permits("shop/count")
        assert not key.permits(None)
        assert main(["keys", "list", "--file", path, "--json"]) == 0
        shown = capsys.readouterr().out
        assert json.loads(shown)[0]["state"] == "valid"
        secret = text.split("_", 2)[2]
        assert secret not in shown
        assert secret not in Path(path).read_text()
        assert main(["keys", "revoke", "--file", path, key.id]) == 0
        capsys.readouterr()
        assert main(["keys", "list", "--file", path]) == 0
        assert "revoked" in capsys.readouterr().out
        assert KeyFile(Path(path)).ring().find(text) is None

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            (["--name", "a"], "would permit nothing"),
            (["--name", "a\x1b[2J", "--specifications"], "printable"),
            (["--name", "a", "--workflow", "x\n"], "--workflow takes ids"),
            (["--name", "a", "--specifications", "--days", "1e12"], "beyond the calendar"),
        ],
    )
    def test_wrong_calls(
        self, options: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Keys for nothing and names that could steer a terminal are not made."""
        path = tmp_path / "keys.json"
        assert main(["keys", "create", "--file", str(path), *options]) == 2
        assert text in capsys.readouterr().err
        assert not path.exists()

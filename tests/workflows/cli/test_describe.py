"""`weftlens describe` and `weftlens schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from workflows.cli.main import main


class TestDescribe:
    def test_text(self, workflow_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The description begins with the name of the file."""
        assert main(["describe", str(workflow_file)]) == 0
        printed = capsys.readouterr().out
        assert printed.startswith("blur.json: 2 inputs, 1 step, 1 output; engine 1.0\n")

    @pytest.mark.parametrize(
        ("name", "beginning"),
        [("g.svg", "<svg"), ("g.SVG", "<svg"), ("g.dot", "digraph"), ("g.mmd", "---\ntitle")],
    )
    def test_a_picture(
        self,
        workflow_file: Path,
        tmp_path: Path,
        name: str,
        beginning: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """The suffix chooses the format; folders are made."""
        picture = tmp_path / "deep" / name
        assert main(["describe", str(workflow_file), "--draw", str(picture)]) == 0
        assert picture.read_text(encoding="utf-8").startswith(beginning)
        assert capsys.readouterr().out.endswith(f"\nPicture: {picture}\n")

    def test_another_suffix(
        self, workflow_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A format we do not write is wrong usage."""
        assert main(["describe", str(workflow_file), "--draw", "g.png"]) == 2
        assert capsys.readouterr().err == (
            "--draw takes a file ending in .svg, .dot, .mmd, got 'g.png'\n"
        )

    def test_a_picture_that_cannot_be_written(
        self, workflow_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The file is named."""
        folder = tmp_path / "g.svg"
        folder.mkdir()
        assert main(["describe", str(workflow_file), "--draw", str(folder)]) == 1
        assert capsys.readouterr().err == f"'{folder}' cannot be written: Is a directory\n"

    def test_a_broken_workflow_is_described(
        self,
        tmp_path: Path,
        broken_definition: dict[str, Any],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Missing blocks do not keep the rest from being shown and drawn; the exit code tells of
        them.
        """
        path = tmp_path / "w.json"
        path.write_text(json.dumps(broken_definition), encoding="utf-8")
        assert main(["describe", str(path), "--draw", str(tmp_path / "w.svg")]) == 1
        assert "Missing blocks\n" in capsys.readouterr().out
        assert (tmp_path / "w.svg").exists()

    def test_no_json(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that is no JSON cannot be described."""
        path = tmp_path / "w.json"
        path.write_text("{", encoding="utf-8")
        assert main(["describe", str(path)]) == 1
        assert "[invalid_json]" in capsys.readouterr().err


class TestSchema:
    def test_on_stdout(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Without a file the schema is printed."""
        assert main(["schema"]) == 0
        Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))

    def test_to_a_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """With a file its path is printed."""
        path = tmp_path / "deep" / "schema.json"
        assert main(["schema", "-o", str(path)]) == 0
        assert capsys.readouterr().out == f"Schema: {path}\n"
        assert json.loads(path.read_text(encoding="utf-8"))["title"] == "Workflow definition"

    def test_a_file_that_cannot_be_written(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The file is named."""
        assert main(["schema", "-o", str(tmp_path)]) == 1
        assert capsys.readouterr().err == f"'{tmp_path}' cannot be written: Is a directory\n"

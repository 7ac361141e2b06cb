"""`weftlens check`: the whole text about broken workflows, and the forms of the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workflows.cli.main import main

BROKEN = sorted((Path(__file__).parent / "broken").glob("*.json"))


class TestBrokenWorkflows:
    @pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
    def test_whole_text(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Every problem is listed at once with place, code, what is wrong and the way out; the exit
        code is 1. `write_expected_texts.py` rewrites the texts.
        """
        assert main(["check", str(path)]) == 1
        printed = capsys.readouterr()
        text = printed.out.replace(f"{path.parent}/", "")
        assert text == path.with_suffix(".txt").read_text(encoding="utf-8")
        assert printed.err == ""

    def test_there_are_ten_and_more(self) -> None:
        """Each broken workflow has its text, and each text its workflow."""
        texts = {path.stem for path in (Path(__file__).parent / "broken").glob("*.txt")}
        assert texts == {path.stem for path in BROKEN}
        assert len(texts) >= 10


class TestCheck:
    def test_a_good_one(self, workflow_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A good workflow is said to be good, exit code 0."""
        assert main(["check", str(workflow_file)]) == 0
        assert capsys.readouterr().out == "blur.json: ok (2 inputs, 1 step, 1 output)\n"

    def test_as_json(
        self,
        tmp_path: Path,
        broken_definition: dict[str, Any],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """With --json the problems come with all their parts."""
        path = tmp_path / "w.json"
        path.write_text(json.dumps(broken_definition), encoding="utf-8")
        assert main(["check", str(path), "--json"]) == 1
        answer = json.loads(capsys.readouterr().out)
        assert answer["workflow"] == str(path)
        assert answer["ok"] is False
        assert len(answer["problems"]) == 3
        assert answer["problems"][0]["where"] == "/steps/1/type"
        assert set(answer["problems"][0]) == {
            "code", "message", "where", "hint", "block_id", "block_type", "property_name",
        }  # fmt: skip

    def test_a_good_one_as_json(
        self, workflow_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A good workflow has an empty list of problems."""
        assert main(["check", str(workflow_file), "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer == {
            "workflow": str(workflow_file), "ok": True, "problems": [], "warnings": [],
        }  # fmt: skip

    def test_a_missing_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that is not there is a problem of the whole file."""
        path = tmp_path / "none.json"
        assert main(["check", str(path)]) == 1
        assert capsys.readouterr().out == (
            "none.json: 1 problem\n"
            "\n"
            "  1. (whole file)  [unreadable_file]\n"
            f"     The workflow file '{path}' cannot be read: No such file or directory.\n"
        )

    def test_strict(
        self,
        tmp_path: Path,
        blur_definition: dict[str, Any],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Unknown fields are warnings, and problems in strict mode only."""
        blur_definition["steps"][0]["kernal_size"] = 3
        path = tmp_path / "w.json"
        path.write_text(json.dumps(blur_definition), encoding="utf-8")
        assert main(["check", str(path)]) == 0
        listed = (
            "  1. /steps/0/kernal_size  [unknown_field]\n"
            "     Step 'blur' has the field 'kernal_size', which roboflow_core/image_blur@v1 does "
            "not know; a run ignores it.\n"
            "     Hint: did you mean 'kernel_size'?\n"
        )
        assert capsys.readouterr().out == (
            "w.json: ok (2 inputs, 1 step, 1 output)\n\nw.json: 1 warning\n\n" + listed
        )
        assert main(["check", str(path), "--strict"]) == 1
        assert capsys.readouterr().out == "w.json: 1 problem\n\n" + listed
        assert main(["check", str(path), "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["problems"] == []
        assert [entry["property_name"] for entry in answer["warnings"]] == ["kernal_size"]

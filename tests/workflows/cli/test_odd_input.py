"""Commands with odd input: no file of the user is overwritten, no command ends in a traceback."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from workflows.cli.main import main

ECHO = {
    "version": "1.0",
    "inputs": [{"type": "WorkflowParameter", "name": "p"}],
    "steps": [],
    "outputs": [{"type": "JsonField", "name": "o", "selector": "$inputs.p"}],
}


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    """A workflow that gives back its parameter."""
    path = tmp_path / "echo.json"
    path.write_text(json.dumps(ECHO), encoding="utf-8")
    return path


class TestOverwriting:
    def test_the_workflow_beside_its_results(self, echo: Path) -> None:
        """Results in the folder of the workflow do not replace it."""
        before = echo.read_bytes()
        assert main(["run", str(echo), "-p", "p=1", "-o", str(echo.parent)]) == 0
        assert echo.read_bytes() == before
        assert json.loads((echo.parent / "echo-2.json").read_text("utf-8")) == {"o": 1}

    def test_an_image_named_like_the_workflow(
        self, tmp_path: Path, blur_definition: dict[str, Any]
    ) -> None:
        """Neither the workflow nor an image of the run is replaced, and no result is lost."""
        workflow = tmp_path / "a.json"
        workflow.write_text(json.dumps(blur_definition), encoding="utf-8")
        pixels = np.full((6, 8, 3), 90, np.uint8)
        encoded = cv2.imencode(".png", pixels)[1].tobytes()
        images = [tmp_path / name for name in ("a.png", "a-2.png", "a-2.blurred.png")]
        for image in images:
            image.write_bytes(encoded)
        kept = {path: path.read_bytes() for path in (workflow, *images)}
        assert main(["run", str(workflow), *map(str, images), "-o", str(tmp_path)]) == 0
        assert {path: path.read_bytes() for path in kept} == kept
        made = set(tmp_path.iterdir()) - set(kept)
        assert len([path for path in made if path.suffix == ".json"]) == 3
        assert len([path for path in made if path.suffix == ".png"]) == 3


class TestNames:
    @pytest.mark.skipif(sys.platform != "linux", reason="names of bytes are a matter of Linux")
    def test_a_name_that_is_no_utf8(
        self, tmp_path: Path, blur_definition: dict[str, Any], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """An image whose name is no UTF-8 runs like any other."""
        workflow = tmp_path / "w.json"
        workflow.write_text(json.dumps(blur_definition), encoding="utf-8")
        image = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.png"))
        image.write_bytes(cv2.imencode(".png", np.zeros((2, 3, 3), np.uint8))[1].tobytes())
        assert main(["run", str(workflow), str(image), "-o", str(tmp_path / "out")]) == 0
        (written,) = (tmp_path / "out").glob("*.json")
        assert json.loads(written.read_text("utf-8"))["blurred"]["value"] == "\udcff.blurred.png"
        assert "Traceback" not in capsys.readouterr().err

    def test_a_folder_given_as_image(
        self, tmp_path: Path, blur_definition: dict[str, Any], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A folder named like an image inside a folder is said to be no file."""
        workflow = tmp_path / "w.json"
        workflow.write_text(json.dumps(blur_definition), encoding="utf-8")
        (tmp_path / "images" / "x.png").mkdir(parents=True)
        assert main(["run", str(workflow), str(tmp_path / "images")]) == 1
        assert "x.png: not a regular file" in capsys.readouterr().err


class TestValues:
    @pytest.mark.parametrize("value", ["NaN", "Infinity", "[1, -Infinity]"])
    def test_numbers_that_json_lacks(
        self, echo: Path, capsys: pytest.CaptureFixture[str], value: str
    ) -> None:
        """Results are JSON that any reader takes: NaN and infinities become null."""

        def refuse(name: str) -> None:
            raise AssertionError(name)

        out = echo.parent / "out"
        assert main(["run", str(echo), "-p", f"p={value}", "--json", "-o", str(out)]) == 0
        expected = [1, None] if value.startswith("[") else None
        (outcome,) = json.loads(capsys.readouterr().out, parse_constant=refuse)
        written = json.loads((out / "echo.json").read_text("utf-8"), parse_constant=refuse)
        assert outcome["results"] == [{"o": expected}]
        assert written == {"o": expected}

    @pytest.mark.parametrize("value", ["1" * 5000, "[" * 50_000])
    def test_json_that_python_does_not_read(self, echo: Path, value: str) -> None:
        """Such a value is taken as text, like anything else that is no JSON."""
        out = echo.parent / "out"
        assert main(["run", str(echo), "-p", f"p={value}", "-o", str(out)]) == 0
        assert json.loads((out / "echo.json").read_text("utf-8")) == {"o": value}

    def test_a_value_nested_too_deep(self, echo: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A value that cannot be written is an error of one line."""
        value = "[" * 900 + "]" * 900
        assert main(["run", str(echo), "-p", f"p={value}", "--json"]) == 1
        assert capsys.readouterr().err == (
            "workflow: Output 'o' holds a value that holds itself or is nested too deep.\n"
        )

    def test_a_secret(self, echo: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A secret shows neither in the printed results nor in the file nor in the description."""
        secret = "sk-0123456789abcdef"
        inputs = [
            {"type": "WorkflowParameter", "name": "k", "kind": ["secret"], "default_value": secret},
            {"type": "WorkflowParameter", "name": "p"},
        ]
        echo.write_text(json.dumps({**ECHO, "inputs": inputs}), encoding="utf-8")
        out = echo.parent / "out"
        assert main(["run", str(echo), "-p", f"p=Bearer {secret}", "-o", str(out)]) == 0
        assert main(["describe", str(echo)]) == 0
        shown = capsys.readouterr().out + (out / "echo.json").read_text("utf-8")
        assert secret not in shown
        assert "Bearer sk********ef" in shown


class TestStreams:
    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_letters_that_the_terminal_lacks(
        self, echo: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
    ) -> None:
        """On a terminal of another encoding letters become escapes, in JSON those of JSON."""
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
        assert main(["run", str(echo), "-p", "p=é\ud800", *options]) == 0
        sys.stdout.flush()
        text = raw.getvalue().decode("ascii")
        if options:
            assert json.loads(text)[0]["results"] == [{"o": "é\ud800"}]
        else:
            assert text == 'workflow\n  o: "\\xe9\\ud800"\n'

    def test_a_full_disk(
        self, echo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Output that cannot be written is one line of text and exit code 1."""

        class Full(io.StringIO):
            def write(self, text: str) -> int:
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(sys, "stdout", Full())
        assert main(["check", str(echo)]) == 1
        expected = "weftlens: the output cannot be written: No space left on device\n"
        assert capsys.readouterr().err == expected

"""`weftlens models`: the whole way of a model into a folder and out of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inference_models.shipped import shipped_models
from workflows.cli.main import main

SOURCE = shipped_models() / "parts-seg" / "1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a user with a folder of models in the settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEFTLENS_MODEL_DIRECTORIES", '["models"]')
    return tmp_path / "models"


class TestModels:
    def test_the_whole_way(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Add, show, list, verify, change, verify, lock, remove."""
        assert main(["models", "add", str(SOURCE), "--id", "coins/2"]) == 0
        shown = (
            "coins/2\n"
            "  task: instance segmentation\n"
            "  classes: coin, washer, nut, bolt, gear, plate, cap\n"
            "  input: 384 x 384 px (h x w), 3 channels, rgb\n"
        )
        assert capsys.readouterr().out.startswith(f"added coins/2\n{shown}")
        assert main(["models", "show", "coins/2"]) == 0
        out = capsys.readouterr().out
        assert out.startswith(shown)
        assert out.endswith("  in: models/coins/2\n")
        assert main(["models"]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "coins/2      instance segmentation  7 classes  onnx  models/coins/2",
            f"parts-seg/1  instance segmentation  7 classes  onnx  {SOURCE}",
        ]
        assert main(["models", "verify", "coins/2"]) == 0
        assert capsys.readouterr().out == "coins/2: ok\n"
        (folder / "coins" / "2" / "scores.json").write_text("{}", encoding="utf-8")
        (folder / "coins" / "2" / "new").touch()
        (folder / "coins" / "2" / "README.md").unlink()
        assert main(["models", "verify"]) == 1
        assert capsys.readouterr().out.splitlines() == [
            "coins/2: not what it was: changed scores.json; missing README.md; new new",
            "parts-seg/1: no SHA256SUMS to compare with (weftlens models add writes one)",
        ]
        assert main(["models", "remove", "coins/2"]) == 0
        assert capsys.readouterr().out == "removed coins/2 from models\n"
        assert list(folder.iterdir()) == []

    def test_json(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Every answer has a form for programs; the digest is that of a lock."""
        assert main(["models", "add", str(SOURCE), "--json"]) == 0
        added = json.loads(capsys.readouterr().out)
        assert added["id"] == "parts-seg/1"
        assert added["packages"][0]["input"] == {
            "height": 384, "width": 384, "channels": 3, "color": "rgb",
        }  # fmt: skip
        for arguments in (["list"], ["show", "parts-seg/1"], ["verify"]):
            assert main(["models", *arguments, "--json"]) == 0
            assert json.loads(capsys.readouterr().out)

    def test_remove_what_a_lock_holds(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A model that a lock of the given folder holds stays."""
        examples = Path(__file__).parents[3] / "examples"
        main(["models", "add", str(SOURCE)])
        main(["lock", str(examples / "find_parts.json"), "-o", "x.lock.json"])
        capsys.readouterr()
        assert main(["models", "remove", "parts-seg/1", "--locks", "."]) == 1
        assert capsys.readouterr().err == (
            'weftlens models remove: model "parts-seg/1" is locked by x.lock.json (remove those '
            "locks first)\n"
        )
        assert (folder / "parts-seg" / "1" / "weights.onnx").is_file()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["add", "none"], "weftlens models add: no model at none: no such file or folder\n"),
            (["add", str(SOURCE), "--id", "../x"],
             "weftlens models add: model id '../x' cannot be used: it reads as a path; expected "
             "name/version, such as parts/1\n"),
            (["show", "none/1"], 'weftlens models show: no model "none/1": looked in '),
            (["verify", "none/1"], 'weftlens models verify: no model "none/1": looked in '),
            (["remove", "none/1"], 'weftlens models remove: no model "none/1" in models\n'),
        ],
    )  # fmt: skip
    def test_what_is_not_there(
        self,
        arguments: list[str],
        message: str,
        folder: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A fault is one line, the exit code 1."""
        assert main(["models", *arguments]) == 1
        assert capsys.readouterr().err.startswith(message)
        assert not folder.exists()

    def test_a_model_that_cannot_be_read(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A damaged model is listed with its fault."""
        (folder / "bad" / "1").mkdir(parents=True)
        (folder / "bad" / "1" / "model_config.json").write_text("{", encoding="utf-8")
        assert main(["models", "list"]) == 1
        first = capsys.readouterr().out.splitlines()[0]
        assert first.startswith("bad/1  cannot be read: models/bad/1/model_config.json is no JSON")

    def test_no_folder(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Without a folder of models, the ways to name one are given."""
        monkeypatch.delenv("WEFTLENS_MODEL_DIRECTORIES")
        for arguments in (["add", str(SOURCE)], ["remove", "a/1"]):
            assert main(["models", *arguments]) == 1
            assert "no folder of models: give --models DIR, or set" in capsys.readouterr().err
        assert main(["models", "add", str(SOURCE), "--models", str(folder)]) == 0

"""`weftlens lock` and `weftlens run --locked`."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from inference_models.shipped import shipped_models
from workflows.cli.main import main
from workflows.locking.lock_file import lock_schema

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user: a workflow with a model of its own; it is the working directory."""
    shutil.copy(EXAMPLES / "find_parts.json", tmp_path / "parts.json")
    shutil.copytree(shipped_models() / "parts-seg", tmp_path / "models" / "parts-seg")
    monkeypatch.setenv("WEFTLENS_MODEL_DIRECTORIES", '["models"]')
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestLock:
    def test_write_check_and_write_again(
        self, parts: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A lock is written beside the workflow, holds, and stays as it is."""
        assert main(["lock", "parts.json"]) == 0
        summary = "engine 1.17.0, 8 steps, 7 blocks, 1 model\n"
        note = "  input 'model' may name the model parts-seg/1\n"
        assert capsys.readouterr().out == f"parts.lock.json: {summary}{note}"
        content = (parts / "parts.lock.json").read_bytes()
        assert main(["lock", "parts.json", "--check"]) == 0
        assert capsys.readouterr().out == f"parts.lock.json holds: {summary}"
        assert main(["lock", "parts.json"]) == 0
        assert capsys.readouterr().out == f"parts.lock.json is up to date: {summary}{note}"
        assert (parts / "parts.lock.json").read_bytes() == content

    def test_check_of_a_lock_that_does_not_hold(
        self, parts: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The difference is named, nothing is written, and a new lock says what it accepts."""
        main(["lock", "parts.json"])
        content = (parts / "parts.lock.json").read_bytes()
        scores = parts / "models" / "parts-seg" / "1" / "scores.json"
        before = f"sha256:{hashlib.sha256(scores.read_bytes()).hexdigest()[:12]}"
        scores.write_text("{}", encoding="utf-8")
        capsys.readouterr()
        assert main(["lock", "parts.json", "--check"]) == 1
        text = (
            "The lock parts.lock.json does not hold: 1 difference\n"
            "  1. File scores.json of model 'parts-seg/1' [model_file]\n"
            f"     locked: {before}\n"
            "     found:  sha256:44136fa355b3\n"
            "     `weftlens models verify parts-seg/1` says what changed here.\n"
            "To accept what is there now: weftlens lock parts.json\n"
        )
        assert capsys.readouterr().out == text
        assert (parts / "parts.lock.json").read_bytes() == content
        assert main(["lock", "parts.json", "--check", "--json"]) == 1
        answer = json.loads(capsys.readouterr().out)
        assert answer["holds"] is False
        assert answer["accept"] == "weftlens lock parts.json"
        assert [drift["code"] for drift in answer["drifts"]] == ["model_file"]
        assert main(["lock", "parts.json"]) == 0
        assert (
            f"  changed: File scores.json of model 'parts-seg/1': locked {before}, found "
            "sha256:44136fa355b3. `weftlens models verify parts-seg/1` says what changed here.\n"
        ) in capsys.readouterr().out
        assert main(["lock", "parts.json", "--check"]) == 0

    def test_models_of_inputs(self, parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Models by choice are locked, and the way to accept a difference keeps them."""
        shutil.copytree(parts / "models" / "parts-seg" / "1", parts / "models" / "parts-seg" / "2")
        assert (
            main(["lock", "parts.json", "--model", "model=parts-seg/2", "-o", "x.lock.json"]) == 0
        )
        assert "the model parts-seg/1 or parts-seg/2\n" in capsys.readouterr().out
        (parts / "models" / "parts-seg" / "2" / "README.md").unlink()
        assert main(["lock", "parts.json", "--check", "-o", "x.lock.json"]) == 1
        assert capsys.readouterr().out.splitlines()[-1] == (
            "To accept what is there now: weftlens lock parts.json --out x.lock.json "
            "--model model=parts-seg/2"
        )

    def test_an_input_without_default(
        self, parts: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A model that only a run names is said to be refused until it is locked."""
        text = (parts / "parts.json").read_text("utf-8")
        (parts / "parts.json").write_text(text.replace('"default_value": "parts-seg/1", ', ""))
        assert main(["lock", "parts.json"]) == 0
        assert capsys.readouterr().out.splitlines()[1] == (
            "  input 'model' names a model and has no default: a locked run refuses every model "
            "until one is locked with --model model=MODEL"
        )

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["x.lock.json"], 2, "weftlens lock: 'x.lock.json' is a lock; name the workflow\n"),
            (["parts.json", "--model", "a"], 2,
             "weftlens lock: --model takes INPUT=MODEL, got 'a'\n"),
            (["parts.json", "--check", "--model", "a=b"], 2,
             "weftlens lock: --check takes the models from the lock; leave out --model\n"),
            (["parts.json", "--out", "models/../parts.json"], 2, "weftlens lock: "
             "'models/../parts.json' is the workflow; a lock is a file of its own\n"),
            (["."], 1, ": The workflow file '.' cannot be read: Is a directory.\n"),
            (["parts.json", "--json"], 2,
             "weftlens lock: --json goes with --check; the lock itself is JSON\n"),
            (["parts.json", "--check"], 1, "parts.json: There is no lock file "
             "'parts.lock.json'; `weftlens lock` makes it.\n"),
            (["none.json"], 1, "none.json: The workflow file 'none.json' cannot be read: No such "
             "file or directory.\n"),
            (["parts.json", "--model", "image=a/1"], 1,
             "parts.json: No input named image names a model; inputs that do: model.\n"),
        ],
    )  # fmt: skip
    def test_wrong_usage(
        self,
        arguments: list[str],
        code: int,
        message: str,
        parts: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """What cannot be meant or made is said in one line; nothing is written."""
        assert main(["lock", *arguments]) == code
        assert capsys.readouterr().err == message
        assert not list(parts.glob("*.lock.json"))

    def test_the_workflow_is_never_the_lock(self, parts: Path) -> None:
        """Not under another name of the same file either."""
        before = (parts / "parts.json").read_bytes()
        (parts / "other.json").hardlink_to(parts / "parts.json")
        assert main(["lock", "parts.json", "--out", "other.json"]) == 2
        assert (parts / "parts.json").read_bytes() == before

    def test_a_broken_workflow(self, parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The problems of the workflow are listed."""
        (parts / "bad.json").write_text('{"version": "1.0", "inputs": [], "steps": 7}')
        assert main(["lock", "bad.json"]) == 1
        assert capsys.readouterr().err.startswith("bad.json: 2 problems\n")

    def test_a_damaged_lock_is_replaced(
        self, parts: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A lock that cannot be read does not stand in the way of a new one, and is named."""
        (parts / "parts.lock.json").write_text("{", encoding="utf-8")
        assert main(["lock", "parts.json"]) == 0
        assert capsys.readouterr().err.startswith(
            "replaced: The lock file 'parts.lock.json' is no JSON"
        )
        assert main(["lock", "parts.json", "--check"]) == 0


class TestRunLocked:
    def test_refused_before_any_image(
        self, parts: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Without a lock, with a model that is not locked, with a changed file: nothing is run."""
        image = str(EXAMPLES / "images" / "coins.png")
        assert main(["run", "parts.json", image, "--locked", "-o", "out"]) == 1
        assert "There is no lock file 'parts.lock.json'" in capsys.readouterr().err
        main(["lock", "parts.json"])
        assert main(["run", "parts.json", image, "--locked", "-p", "model=x/1", "-o", "out"]) == 1
        assert "The model that input 'model' names" in capsys.readouterr().err
        (parts / "models" / "parts-seg" / "1" / "more").touch()
        assert main(["run", "parts.json", image, "--lock", "parts.lock.json", "-o", "out"]) == 1
        assert "File more of model 'parts-seg/1'" in capsys.readouterr().err
        assert not (parts / "out").exists()

    def test_a_lock_that_holds(
        self, workflow_file: Path, picture_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The run goes on as without a lock."""
        assert main(["lock", str(workflow_file)]) == 0
        assert main(["run", str(workflow_file), str(picture_file), "--locked"]) == 0
        out = capsys.readouterr().out
        assert main(["run", str(workflow_file), str(picture_file)]) == 0
        assert out.endswith(capsys.readouterr().out)


class TestSchema:
    def test_of_locks(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`schema --lock` prints the schema of lock files."""
        assert main(["schema", "--lock"]) == 0
        assert json.loads(capsys.readouterr().out) == lock_schema()

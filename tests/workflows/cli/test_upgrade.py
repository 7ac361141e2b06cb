"""`weftlens upgrade` and `weftlens blocks diff`, with their whole texts."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

from workflows.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "examples"
SEGMENTATION = "roboflow_core/roboflow_instance_segmentation_model"

CHANGES = Path(__file__).with_name("upgrade_parts.txt").read_text("utf-8")


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of an example in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = Path("parts.json")
    shutil.copy(EXAMPLES / "find_parts.json", path)
    return path


class TestUpgrade:
    def test_whole_text(self, parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What v4 and v5 of instance segmentation change is shown; the file stays."""
        before = parts.read_bytes()
        assert main(["upgrade", "parts.json", "--step", "parts"]) == 0
        assert capsys.readouterr().out == (
            CHANGES + "\nparts.json is left as it is; --write rewrites it.\n"
        )
        assert parts.read_bytes() == before

    def test_write(self, parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """One line of the file changes, the file passes the check, and its lock is out of date."""
        assert main(["lock", "parts.json"]) == 0
        before = parts.read_text("utf-8").splitlines()
        parts.chmod(0o600)
        capsys.readouterr()
        assert main(["upgrade", "parts.json", "--step", "parts", "--write"]) == 0
        assert capsys.readouterr().out == CHANGES + (
            "\nparts.json is rewritten.\n"
            "Its lock does not hold any more; make a new one: weftlens lock parts.json\n"
        )
        after = parts.read_text("utf-8").splitlines()
        assert [new for old, new in zip(before, after, strict=True) if old != new] == [
            f'      "type": "{SEGMENTATION}@v5",'
        ]
        assert stat.S_IMODE(parts.stat().st_mode) == 0o600
        assert main(["check", "parts.json", "--strict"]) == 0
        assert main(["lock", "parts.json", "--check"]) == 1
        assert "The block of step 'parts'" in capsys.readouterr().out

    def test_the_lock_is_made_anew_with_its_models(
        self,
        parts: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """The command is the one that a refused run prints."""
        model = EXAMPLES.parent / "inference_models" / "shipped" / "parts-seg" / "1"
        monkeypatch.setenv("WEFTLENS_MODEL_DIRECTORIES", '["models"]')
        assert main(["models", "add", str(model), "--id", "other/2"]) == 0
        assert main(["lock", "parts.json", "--model", "model=other/2"]) == 0
        assert main(["upgrade", "parts.json", "--step", "parts", "--write"]) == 0
        command = "weftlens lock parts.json --model model=other/2"
        assert capsys.readouterr().out.endswith(f"make a new one: {command}\n")
        assert main(["lock", "parts.json", "--check"]) == 1
        assert f"To accept what is there now: {command}\n" in capsys.readouterr().out
        Path("parts.lock.json").write_text("{", encoding="utf-8")
        text = parts.read_text("utf-8").replace("@v5", "@v3")
        parts.write_text(text, encoding="utf-8")
        capsys.readouterr()
        assert main(["upgrade", "parts.json", "--step", "parts", "--write"]) == 0
        assert capsys.readouterr().out.endswith("make a new one: weftlens lock parts.json\n")

    def test_nothing_newer(self, parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A workflow whose blocks are the newest says so."""
        assert main(["upgrade", "parts.json", "--write"]) == 0
        capsys.readouterr()
        assert main(["upgrade", "parts.json", "--write"]) == 0
        assert capsys.readouterr().out == "parts.json: no step has a newer version (8 steps)\n"

    def test_an_upgrade_that_breaks_something(
        self, parts: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What would not pass the check is not written."""
        text = parts.read_text("utf-8").replace(
            '"confidence_mode": "custom",', '"confidence_mode": "custom", "tradeoff_factor": 3,'
        )
        parts.write_text(text, encoding="utf-8")
        assert main(["check", "parts.json"]) == 0
        assert main(["upgrade", "parts.json", "--step", "parts", "--write"]) == 1
        printed = capsys.readouterr()
        assert "parts.json, upgraded: 1 problem\n" in printed.out
        assert "/steps/0/tradeoff_factor" in printed.out
        assert printed.out.endswith(
            "--set STEP.FIELD=VALUE gives a field of an upgraded step another value.\n"
        )
        assert printed.err == "weftlens upgrade: parts.json is left as it is\n"
        assert parts.read_text("utf-8") == text

    def test_set(self, parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A field of the new version can be set on the way, as JSON or as text."""
        arguments = ["upgrade", "parts.json", "--step", "parts", "--write"]
        arguments += ["--set", "parts.mask_decode_mode=tradeoff", "--set", "tradeoff_factor=0.5"]
        assert main(arguments) == 0
        step = json.loads(parts.read_text("utf-8"))["steps"][0]
        assert (step["mask_decode_mode"], step["tradeoff_factor"]) == ("tradeoff", 0.5)

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["parts.lock.json"], 2,
             "weftlens upgrade: 'parts.lock.json' is a lock; name the workflow\n"),
            (["parts.json", "--set", "x"], 2,
             "weftlens upgrade: --set takes [STEP.]FIELD=VALUE, got 'x'\n"),
            (["parts.json", "--step", "part"], 1,
             "parts.json: The workflow has no step 'part'; it has parts, coins, measured, count, "
             "areas, masks, labels, annotated (did you mean 'parts'?).\n"),
            (["parts.json", "--to", "v3"], 1,
             "parts.json: No step has a block with a newer version v3.\n"),
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
        """What cannot be meant is said in one line."""
        assert main(["upgrade", *arguments]) == code
        assert capsys.readouterr().err == message

    @pytest.mark.parametrize("content", [b"{", b"\xff\xfe{\x00", b"[]"])
    def test_no_workflow(
        self, content: bytes, parts: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What is no workflow ends in words, not in a traceback."""
        parts.write_bytes(content)
        assert main(["upgrade", "parts.json"]) in (0, 1)
        printed = capsys.readouterr()
        assert printed.out or printed.err


class TestBlocksDiff:
    def test_whole_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Lines of the change log, then one table from the old to the new version."""
        old, new = f"{SEGMENTATION}@v1", f"{SEGMENTATION}@v2"
        assert main(["blocks", "diff", old, new]) == 0
        assert capsys.readouterr().out == (
            f"{old} -> {new}\n"
            "  v2: Adds the output model_id; inference_id gets a kind of its own.\n"
            "\n"
            "  what                        v1      v2\n"
            "  output inference_id: kinds  string  inference_id\n"
            "  output model_id             -       roboflow_model_id\n"
        )

    def test_as_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """With --json the differences come in parts."""
        assert main(["blocks", "diff", f"{SEGMENTATION}@v3", f"{SEGMENTATION}@v5", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert list(answer["versions"]) == ["v4", "v5"]
        assert {change["name"] for change in answer["changes"]} == {
            "enforce_dense_masks_in_inference_models", "mask_decode_mode", "tradeoff_factor",
            "predictions",
        }  # fmt: skip

    def test_names_without_the_plug_in(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A name with a version is that version, one without is the newest, as for `show`."""
        family = SEGMENTATION.rpartition("/")[2]
        assert main(["blocks", "diff", f"{family}@v3", family]) == 0
        first = capsys.readouterr().out.splitlines()[0]
        assert first == f"{SEGMENTATION}@v3 -> {SEGMENTATION}@v5"

    def test_no_difference(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Versions that differ only in what they do say so."""
        name = "roboflow_core/halo_visualization"
        assert main(["blocks", "diff", f"{name}@v1", f"{name}@v2"]) == 0
        assert capsys.readouterr().out == (
            f"{name}@v1 -> {name}@v2\n"
            "  v2: Detections without masks are not drawn.\n"
            "\n"
            "  Fields and outputs are the same.\n"
        )

    def test_an_unknown_block(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An unknown type id is answered with the nearest ones."""
        assert main(["blocks", "diff", f"{SEGMENTATION}@v9", f"{SEGMENTATION}@v1"]) == 1
        assert capsys.readouterr().err.startswith(
            f"there is no block '{SEGMENTATION}@v9'; nearest:"
        )

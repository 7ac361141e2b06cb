"""`weftlens video`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.video.test_streams import play
from tests.workflows.video.video_files import (
    broken_workflow,
    counting_workflow,
    picture,
    video_threads,
    write_video,
)
from workflows.cli import video as command_module
from workflows.cli.app import run_app
from workflows.video.sources import source_of


@pytest.fixture
def workflow(tmp_path: Path) -> Path:
    """A workflow that counts squares."""
    path = tmp_path / "count.json"
    path.write_text(json.dumps(counting_workflow()))
    return path


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """Six frames with 0 to 5 squares, in a file with other letters in its name."""
    return write_video(tmp_path / "Straße ü.mp4", [picture(n) for n in range(6)])


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Results in a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class TestVideoCommand:
    def test_writes_results_and_video_and_a_summary(
        self, workflow: Path, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One line and one picture a frame; the summary has counts, rate, latencies, files."""
        results, out = tmp_path / "r.jsonl", tmp_path / "o.mp4"
        code = run_app(
            ["video", str(workflow), str(clip), "--out", str(out), "--results", str(results)]
        )
        assert code == 0
        lines = lines_of(results)
        assert [line["results"]["count"] for line in lines] == list(range(6))
        assert [line["frame"] for line in lines] == list(range(1, 7))
        assert lines[3]["seconds"] == pytest.approx(0.1)
        assert lines[0]["source"] == 0
        assert lines[0]["results"]["picture"] == {
            "type": "not_written", "width": 64, "height": 64,
        }  # fmt: skip
        assert len(play(source_of(out).open())[0]) == 6
        shown = capsys.readouterr().out
        assert f"{clip}: 6 of 6 frames\n" in shown
        assert "6 results in" in shown
        assert "frames/s; latency" in shown
        assert f"video: {out}" in shown
        assert f"results: {results}" in shown

    def test_the_summary_can_be_json(
        self, workflow: Path, clip: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The whole report, alone on stdout."""
        assert run_app(["video", str(workflow), str(clip), "--json", "--max-fps", "15"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["results"] == 3
        assert report["sources"][0]["thinned"] == 3

    def test_several_sources(
        self, workflow: Path, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A summary line and a video for each."""
        other = write_video(tmp_path / "b.mp4", [picture(1)] * 3)
        out = tmp_path / "o.mp4"
        assert run_app(["video", str(workflow), str(clip), str(other), "-o", str(out)]) == 0
        shown = capsys.readouterr().out
        assert "6 of 6 frames" in shown
        assert "3 of 3 frames" in shown
        assert len(play(source_of(tmp_path / "o-1.mp4").open())[0]) == 3

    def test_options_reach_the_run(self, workflow: Path, clip: Path, tmp_path: Path) -> None:
        """Parameters, number of frames, depth and policy."""
        definition = counting_workflow()
        definition["inputs"].append({"type": "WorkflowParameter", "name": "level"})
        definition["steps"][1]["thresh_value"] = "$inputs.level"
        workflow.write_text(json.dumps(definition))
        results = tmp_path / "r.jsonl"
        arguments = [
            "video", str(workflow), str(clip), "--param", "level=250", "--frames", "4",
            "--depth", "2", "--policy", "wait", "--input", "image", "--results", str(results),
        ]  # fmt: skip
        assert run_app(arguments) == 0
        assert [line["results"]["count"] for line in lines_of(results)] == [0] * 4

    @pytest.mark.parametrize(
        ("more", "code", "words"),
        [
            (["--param", "nothing=1"], 2, "no input 'nothing'"),
            (["--max-fps", "-3"], 2, "max_fps must be above 0"),
            (["--out", "o.txt"], 1, "does not end like a video"),
            (["--video-output", "x", "--out", "o.mp4"], 1, "no output 'x'"),
            (["--input", "x"], 1, "no image input 'x'"),
            (["--results", "no/r.jsonl"], 1, "cannot be written 'no/r.jsonl'"),
        ],
    )
    def test_wrong_options_are_explained(
        self,
        workflow: Path,
        clip: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        more: list[str],
        code: int,
        words: str,
    ) -> None:
        """On stderr, without a traceback."""
        monkeypatch.chdir(tmp_path)
        assert run_app(["video", str(workflow), str(clip), *more]) == code
        assert words in capsys.readouterr().err

    def test_no_picture_to_write(
        self, workflow: Path, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The message says which options help."""
        definition = counting_workflow()
        definition["outputs"].pop()
        workflow.write_text(json.dumps(definition))
        assert run_app(["video", str(workflow), str(clip), "-o", str(tmp_path / "o.mp4")]) == 1
        assert (
            "its outputs are count. Run without --out, or name a picture with --video-output NAME"
        ) in capsys.readouterr().err

    @pytest.mark.parametrize("target", ["source", "workflow"])
    def test_what_is_read_is_not_written(
        self, workflow: Path, clip: Path, target: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Neither the video nor the workflow is replaced by results."""
        path = clip if target == "source" else workflow
        before = path.read_bytes()
        assert run_app(["video", str(workflow), str(clip), "--results", str(path)]) == 2
        assert path.read_bytes() == before
        assert "cannot be written" in capsys.readouterr().err

    def test_another_name_of_what_is_read_is_not_written(
        self, workflow: Path, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A hard link of the video is the video; nothing of it is lost."""
        other, before = tmp_path / "other.mp4", clip.read_bytes()
        other.hardlink_to(clip)
        for option in ("--out", "--results"):
            assert run_app(["video", str(workflow), str(clip), option, str(other)]) == 2
            assert "is read by this command" in capsys.readouterr().err
        assert clip.read_bytes() == before

    @pytest.mark.parametrize(("sources", "results"), [(1, "o.mp4"), (2, "o-1.mp4")])
    def test_results_and_video_are_two_files(
        self,
        workflow: Path,
        clip: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        sources: int,
        results: str,
    ) -> None:
        """One name for both would give a file that is neither."""
        code = run_app(
            ["video", str(workflow), *[str(clip)] * sources, "--out", str(tmp_path / "o.mp4"),
             "--results", str(tmp_path / results)]
        )  # fmt: skip
        assert code == 2
        assert "both the results and a video" in capsys.readouterr().err
        assert not (tmp_path / results).exists()

    def test_only_files_that_were_written_are_listed(
        self, workflow: Path, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A video that cannot be made is not among the files of the summary."""
        out = tmp_path / "no" / "o.mp4"
        assert run_app(["video", str(workflow), str(clip), "--out", str(out), "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["files"] == []

    def test_a_missing_file_is_named(
        self, workflow: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Exit code 1."""
        assert run_app(["video", str(workflow), str(tmp_path / "none.mp4")]) == 1
        assert f"there is no file '{tmp_path / 'none.mp4'}'" in capsys.readouterr().err

    def test_a_workflow_that_fails_on_a_frame(
        self, workflow: Path, clip: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Ends with the error; with --skip-errors every frame is reported. Exit code 1."""
        workflow.write_text(json.dumps(broken_workflow()))
        assert run_app(["video", str(workflow), str(clip)]) == 1
        shown = capsys.readouterr().err
        assert "expects text" in shown
        assert "frame 1 of source 0" in shown
        assert run_app(["video", str(workflow), str(clip), "--skip-errors"]) == 1
        shown = capsys.readouterr()
        assert "source 0, frame 6: the workflow failed" in shown.err
        assert "no frame had a result" in shown.out

    @pytest.mark.parametrize("fault", ["no source", "no video", "no workflow", "no result"])
    def test_old_results_stay_until_there_are_new_ones(
        self, workflow: Path, clip: Path, tmp_path: Path, fault: str
    ) -> None:
        """A source that does not open and a workflow that does not run lose no results and no
        video of an earlier run.
        """
        results, out = tmp_path / "r.jsonl", tmp_path / "o.mp4"
        results.write_text("old\n")
        out.write_bytes(b"old")
        if fault == "no source":
            clip.unlink()
        elif fault == "no video":
            clip.write_bytes(b"no video")
        else:
            definition = broken_workflow() if fault == "no result" else {"steps": 1}
            workflow.write_text(json.dumps(definition))
        command = ["video", str(workflow), str(clip), "--results", str(results)]
        if fault != "no result":  # that workflow has no picture to write
            command += ["--out", str(out)]
        assert run_app(command) == 1
        assert results.read_text() == "old\n"
        assert out.read_bytes() == b"old"

    def test_new_results_replace_old_ones_at_once(
        self, workflow: Path, clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each line is in the file when the next result comes, and nothing of the old ones."""
        results, seen = tmp_path / "r.jsonl", []
        results.write_text("old\n" * 100)
        written = command_module._write_lines

        def looked_at(*arguments: Any) -> None:
            written(*arguments)
            seen.append(len(lines_of(results)))

        monkeypatch.setattr(command_module, "_write_lines", looked_at)
        assert run_app(["video", str(workflow), str(clip), "--results", str(results)]) == 0
        assert seen == [1, 2, 3, 4, 5, 6]

    def test_results_into_a_pipe(self, workflow: Path, clip: Path) -> None:
        """What is no file is written to as it is."""
        command = [sys.executable, "-m", "workflows.cli.main", "video", str(workflow), str(clip)]
        done = subprocess.run(
            [*command, "--results", "/dev/stdout"], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        assert [json.loads(line)["results"]["count"] for line in lines] == list(range(6))

    def test_results_that_cannot_be_written(
        self, workflow: Path, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """That is said before a frame is run."""
        results = tmp_path / "no" / "r.jsonl"
        assert run_app(["video", str(workflow), str(clip), "--results", str(results)]) == 1
        shown = capsys.readouterr()
        assert f"cannot be written '{results}'" in shown.err
        assert "0 of 0 frames" not in shown.out

    def test_an_interrupt_keeps_what_was_done(
        self,
        workflow: Path,
        clip: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Ctrl-C: exit code 130, the lines and the video so far, the summary, no thread left."""
        written = command_module._write_lines

        def interrupted(*arguments: Any) -> None:
            written(*arguments)
            if arguments[2].frames[0].frame_id == 3:
                raise KeyboardInterrupt

        monkeypatch.setattr(command_module, "_write_lines", interrupted)
        results, out = tmp_path / "r.jsonl", tmp_path / "o.mp4"
        code = run_app(
            ["video", str(workflow), str(clip), "--results", str(results), "--out", str(out)]
        )
        assert code == 130
        assert len(lines_of(results)) == 3
        assert len(play(source_of(out).open())[0]) == 3
        shown = capsys.readouterr()
        assert "Interrupted" in shown.err
        assert "results in" in shown.out
        assert video_threads() == []

    @pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM there")
    def test_a_termination_keeps_what_was_done(
        self, workflow: Path, clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """SIGTERM, as of a service manager, ends the video so that it plays; exit code 130."""
        written = command_module._write_lines
        before = signal.getsignal(signal.SIGTERM)

        def terminated(*arguments: Any) -> None:
            written(*arguments)
            if arguments[2].frames[0].frame_id == 3:
                signal.raise_signal(signal.SIGTERM)

        monkeypatch.setattr(command_module, "_write_lines", terminated)
        out = tmp_path / "o.mp4"
        results = tmp_path / "r.jsonl"
        code = run_app(
            ["video", str(workflow), str(clip), "--results", str(results), "--out", str(out)]
        )
        assert code == 130
        assert len(play(source_of(out).open())[0]) == 3
        assert signal.getsignal(signal.SIGTERM) == before

    def test_secrets_do_not_reach_the_results(
        self, workflow: Path, clip: Path, tmp_path: Path
    ) -> None:
        """A secret parameter that an output repeats is starred."""
        definition = counting_workflow()
        definition["inputs"].append(
            {"type": "WorkflowParameter", "name": "key", "kind": ["secret"]}
        )
        definition["outputs"].append(
            {"type": "JsonField", "name": "key", "selector": "$inputs.key"}
        )
        workflow.write_text(json.dumps(definition))
        results = tmp_path / "r.jsonl"
        arguments = ["video", str(workflow), str(clip), "-p", "key=supersecretvalue"]
        assert run_app([*arguments, "--results", str(results)]) == 0
        assert "supersecretvalue" not in results.read_text()

    def test_runs_as_a_process(self, workflow: Path, clip: Path) -> None:
        """As the shell starts it."""
        done = subprocess.run(
            [sys.executable, "-m", "workflows.cli.main", "video", str(workflow), str(clip)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "6 of 6 frames" in done.stdout

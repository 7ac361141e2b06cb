"""Inner workflows that a file names by their ids."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from execution_engine.errors import (
    WorkflowCompilerError,
    WorkflowDefinitionError,
    WorkflowSyntaxError,
)
from tests.execution_engine.compiler.test_inner_workflows import (
    INNER,
    TENFOLD,
    definition,
    inner,
    numbers,
    times,
)
from workflows import Session, WeftlensSettings, Workflow, run_locally
from workflows.cli.main import main
from workflows.server.workflow_folder import WorkflowFolder


def stored(name: str, workspace: Any, workflow_id: Any, **bindings: Any) -> dict[str, Any]:
    return {
        "type": INNER,
        "name": name,
        "workflow_workspace_id": workspace,
        "workflow_id": workflow_id,
        "parameter_bindings": bindings,
    }


def outer(*steps: dict[str, Any]) -> dict[str, Any]:
    return definition([numbers("v")], list(steps), y="$steps.n.y")


def write(path: Path, workflow: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(workflow), encoding="utf-8")
    return path


def by(factor: int) -> dict[str, Any]:
    return definition([numbers("x")], [times("m", "$inputs.x", factor)], y="$steps.m.output")


class TestLoading:
    @pytest.mark.parametrize(
        ("files", "result"),
        [
            ({"mine/a.json": 2}, 2),
            ({"a.json": 3}, 3),
            ({"mine/a.json": 2, "a.json": 3, "other/a.json": 5}, 2),
        ],
    )
    def test_where_they_are_found(self, tmp_path: Path, files: dict[str, int], result: int) -> None:
        """In the folder of the workspace, else beside the file."""
        for name, factor in files.items():
            write(tmp_path / name, by(factor))
        path = write(tmp_path / "outer.json", outer(stored("n", "mine", "a", x="$inputs.v")))
        assert run_locally(path, {"v": [1, 4]}) == [{"y": result}, {"y": 4 * result}]

    @pytest.mark.parametrize(("kept", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
    def test_accented_names(self, tmp_path: Path, kept: str, asked: str) -> None:
        """Composed and decomposed letters are the same name."""
        space, name = (unicodedata.normalize(kept, text) for text in ("münze", "zähler"))
        write(tmp_path / space / f"{name}.json", by(2))
        names = (unicodedata.normalize(asked, text) for text in ("münze", "zähler"))
        path = write(tmp_path / "outer.json", outer(stored("n", *names, x="$inputs.v")))
        assert run_locally(path, {"v": [1, 4]}) == [{"y": 2}, {"y": 8}]

    def test_inner_ones_name_others(self, tmp_path: Path) -> None:
        """Each file looks beside itself, also from inside of a given definition."""
        write(tmp_path / "w" / "b.json", by(7))
        middle = definition([numbers("x")], [stored("n", "w", "b", x="$inputs.x")], y="$steps.n.y")
        write(tmp_path / "w" / "a.json", middle)
        around = definition([numbers("x")], [stored("n", "w", "a", x="$inputs.x")], y="$steps.n.y")
        path = write(tmp_path / "outer.json", outer(inner("n", around, x="$inputs.v")))
        assert run_locally(path, {"v": [2]}) == [{"y": 14}]

    def test_one_that_is_missing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The rest can be looked at; only running is refused, with the place and the way out."""
        path = write(
            tmp_path / "outer.json",
            outer(stored("n", "w", "gone", x="$inputs.v"), times("t", "$inputs.v", 2)),
        )
        workflow = Workflow.load(path)
        [problem] = workflow.check()
        assert problem.where == "/steps/0"
        assert "beside the file of the workflow around it" in problem.message
        assert main(["describe", str(path)]) == 1
        assert "t: Property Definition" in capsys.readouterr().out
        with pytest.raises(WorkflowCompilerError):
            run_locally(path, {"v": [1]})

    def test_versions_are_not_kept(self, tmp_path: Path) -> None:
        """A step that asks for a version gets no file without one."""
        write(tmp_path / "a.json", by(2))
        step = stored("n", "w", "a", x="$inputs.v") | {"workflow_version_id": "7"}
        path = write(tmp_path / "outer.json", outer(step))
        with pytest.raises(WorkflowSyntaxError, match="workflow_version_id"):
            run_locally(path, {"v": [1]})

    @pytest.mark.parametrize(
        ("workspace", "name"),
        [
            ("..", "a"), ("w", "../a"), ("w", "/a"), (".", "a"), ("w/x", "a"), ("w", ".a"),
            ("", "a"), ("w", ""), (None, "a"), (3, "a"), ("w", "a\0"), ("w\\x", "a"), ("c:", "a"),
        ],
    )  # fmt: skip
    def test_names_that_lead_elsewhere(self, tmp_path: Path, workspace: Any, name: Any) -> None:
        """Only plain names are names of files."""
        for file in ("a.json", "in/.a.json", "in/a.json", "in/w/.a.json", "in/w/x/a.json"):
            write(tmp_path / file, by(2))
        path = write(tmp_path / "in" / "outer.json", outer(stored("n", workspace, name)))
        with pytest.raises(WorkflowCompilerError):
            run_locally(path, {"v": [1]})

    def test_a_lock_is_no_workflow(self, tmp_path: Path) -> None:
        """The lock beside a stored workflow is not taken for one."""
        write(tmp_path / "a.lock.json", by(2))
        path = write(tmp_path / "outer.json", outer(stored("n", "w", "a.lock", x="$inputs.v")))
        with pytest.raises(WorkflowSyntaxError, match="must hold the inner workflow"):
            run_locally(path, {"v": [1]})

    def test_links_that_lead_elsewhere(self, tmp_path: Path) -> None:
        """A link out of the folder is not followed."""
        target = write(tmp_path / "a.json", by(2))
        path = write(tmp_path / "in" / "outer.json", outer(stored("n", "w", "a", x="$inputs.v")))
        (tmp_path / "in" / "a.json").symlink_to(target)
        with pytest.raises(WorkflowCompilerError):
            run_locally(path, {"v": [1]})

    def test_a_broken_one_is_named(self, tmp_path: Path) -> None:
        """A file that is no JSON is the fault, not the step."""
        (tmp_path / "a.json").write_text("{", encoding="utf-8")
        path = write(tmp_path / "outer.json", outer(stored("n", "w", "a", x="$inputs.v")))
        with pytest.raises(WorkflowSyntaxError, match=r"a\.json is no JSON"):
            run_locally(path, {"v": [1]})

    def test_one_that_holds_itself(self, tmp_path: Path) -> None:
        """Straight or over another one."""
        step = stored("n", "w", "outer", x="$inputs.v")
        path = write(tmp_path / "outer.json", outer(step))
        with pytest.raises(WorkflowDefinitionError, match="outer in outer"):
            run_locally(path, {"v": [1]})
        write(tmp_path / "outer.json", outer(stored("n", "w", "a", x="$inputs.v")))
        write(tmp_path / "a.json", outer(step))
        with pytest.raises(WorkflowDefinitionError, match="outer in a in outer"):
            run_locally(path, {"v": [1]})

    def test_a_tree_of_them(self, tmp_path: Path) -> None:
        """Files that hold each other 30 times over four levels are refused at once."""
        write(tmp_path / "w4.json", by(2))
        for level in (3, 2, 1):
            steps = [stored(f"n{i}", "w", f"w{level + 1}", x="$inputs.v") for i in range(30)]
            write(tmp_path / f"w{level}.json", outer(*steps))
        with pytest.raises(WorkflowDefinitionError, match="more than 32 inner workflows"):
            run_locally(tmp_path / "w1.json", {"v": [1]})

    def test_objects_have_no_place(self) -> None:
        """A definition that is no file names stored ones in vain."""
        with pytest.raises(WorkflowSyntaxError, match="got only workflow_workspace_id"):
            run_locally(outer(stored("n", "w", "a", x="$inputs.v")), {"v": [1]})


class TestAround:
    def test_a_lock_holds_what_they_are(self, tmp_path: Path) -> None:
        """A lock of the outer file is broken by a change of the inner one."""
        write(tmp_path / "a.json", by(2))
        path = write(tmp_path / "outer.json", outer(stored("n", "w", "a", x="$inputs.v")))
        assert main(["lock", str(path)]) == 0
        assert main(["lock", "--check", str(path)]) == 0
        write(tmp_path / "a.json", by(3))
        assert main(["lock", "--check", str(path)]) == 1

    def test_a_folder_of_a_server_reads_them_anew(self, tmp_path: Path) -> None:
        """A change of an inner file, and one that is new, are seen at the next request."""
        write(tmp_path / "outer.json", outer(stored("n", "w", "a", x="$inputs.v")))
        folder = WorkflowFolder(tmp_path)

        def result() -> Any:
            with Session(WeftlensSettings()) as session:
                return run_locally(folder.get("w", "outer"), {"v": [1]}, session=session)

        with pytest.raises(WorkflowCompilerError):
            result()
        write(tmp_path / "a.json", by(2))
        assert result() == [{"y": 2}]
        assert folder.get("w", "outer") is folder.get("w", "outer")
        write(tmp_path / "w" / "a.json", by(3))
        assert result() == [{"y": 3}]

    def test_the_file_itself_is_upgraded(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """`upgrade` rewrites what stands in the file; the inner one stays an id."""
        write(tmp_path / "a.json", TENFOLD)
        slicer = {"type": "roboflow_core/image_slicer@v1", "name": "s", "image": "$inputs.i"}
        workflow = outer(stored("n", "w", "a", x="$inputs.v"), slicer)
        workflow["inputs"].append({"type": "WorkflowImage", "name": "i"})
        path = write(tmp_path / "outer.json", workflow)
        main(["upgrade", str(path), "--write"])
        written = json.loads(path.read_text(encoding="utf-8"))
        assert written["steps"][0] == workflow["steps"][0]
        assert written["steps"][1]["type"] == "roboflow_core/image_slicer@v2"

"""`weftlens doctor`: each check on a sound and on a broken installation."""

from __future__ import annotations

import importlib
import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from workflows.cli import doctor
from workflows.cli.doctor import Finding, examine
from workflows.cli.main import main
from workflows.cli.ownership import MENDING


def problems(findings: Any) -> list[Finding]:
    return [finding for finding in findings if finding.state == "problem"]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Versions of distributions that the doctor sees; none to begin with."""
    versions: dict[str, str] = {}

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
    return versions


class TestDoctor:
    def test_this_installation_is_well(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The environment of the tests has no problem, exit code 0."""
        assert main(["doctor"]) == 0
        text = capsys.readouterr().out
        assert text.endswith("\nall is well\n")
        assert "packages: all four are ours and nobody else's" in text
        assert "PROBLEM" not in text

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """As JSON each finding is an object."""
        assert main(["doctor", "--json"]) == 0
        findings = json.loads(capsys.readouterr().out)
        assert {"Python", "weftlens", "packages", "blocks"} <= {f["subject"] for f in findings}
        assert findings[0]["mending"] is None

    def test_a_problem_is_shown_with_its_mending(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A problem gives exit code 1, its text and the way to mend it."""
        monkeypatch.setattr(
            doctor, "examine", lambda: [Finding("problem", "cv2", "is broken", "reinstall it")]
        )
        assert main(["doctor"]) == 1
        assert capsys.readouterr().out == (
            "PROBLEM  cv2: is broken\n         mend it: reinstall it\n\n1 problem found\n"
        )

    def test_every_check_is_made(self) -> None:
        """The findings come from all checks."""
        assert len(examine()) >= 7


class TestPackages:
    def test_a_shared_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A distribution that brings a folder of ours is named."""
        monkeypatch.setattr(
            doctor, "sharing_distributions", lambda: {"workflows": ["llama-index-workflows"]}
        )
        (finding,) = doctor.packages()
        assert finding == Finding(
            "problem",
            "packages",
            "the folder 'workflows' is also brought by llama-index-workflows; the two overwrite "
            "each other",
            MENDING,
        )

    def test_a_foreign_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A package that is not ours is told without repeating the mending."""
        monkeypatch.setattr(
            doctor, "foreign_packages", lambda: [f"the package 'blocks' is foreign. {MENDING}"]
        )
        (finding,) = doctor.packages()
        assert finding.text == "the package 'blocks' is foreign."


class TestVersions:
    def test_not_installed(self, installed: dict[str, str]) -> None:
        """Running from a folder without installation is a problem."""
        (finding,) = problems(doctor.versions())
        assert "without being installed" in finding.text


class TestRequirements:
    def test_missing_and_old(
        self, monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]
    ) -> None:
        """What is missing or too old is named with what is needed."""
        monkeypatch.setattr(
            metadata, "requires", lambda name: ["a>=2", "b", "c<3,>=1", 'd; extra == "x"']
        )
        monkeypatch.setattr(doctor, "clone", lambda: None)
        installed.update(a="1.5", c="2.0")
        assert [(f.text, f.mending) for f in doctor.requirements()] == [
            ("a 1.5 is installed, >=2 is needed", "pip install 'a>=2'"),
            ("b is not installed", "pip install 'b'"),
        ]

    def test_in_a_clone_versions_are_those_of_the_project(
        self, monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], tmp_path: Path
    ) -> None:
        """What pip installs is held to the file of the clone, wherever the command is typed."""
        monkeypatch.setattr(metadata, "requires", lambda name: ["a>=2"])
        folder = doctor.clone()
        assert folder is not None
        monkeypatch.chdir(folder)
        (finding,) = doctor.requirements()
        assert finding.mending == "pip install -c constraints.txt 'a>=2'"
        monkeypatch.chdir(tmp_path)
        (finding,) = doctor.requirements()
        assert finding.mending == f"pip install -c {folder / 'constraints.txt'} 'a>=2'"

    def test_all_there(self) -> None:
        """The environment of the tests has all of them."""
        (finding,) = doctor.requirements()
        assert finding.state == "ok"

    def test_nothing_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without an installation there is nothing to compare with."""

        def fail(name: str) -> list[str]:
            raise metadata.PackageNotFoundError(name)

        monkeypatch.setattr(metadata, "requires", fail)
        assert list(doctor.requirements()) == []
        assert list(doctor.extras()) == []


class TestExtras:
    def test_states(self, monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]) -> None:
        """Installed, installed in part, not installed."""
        lines = [
            'a; extra == "one"',
            'b; extra == "two"',
            'c; extra == "two"',
            'd; extra == "three"',
        ]
        monkeypatch.setattr(metadata, "requires", lambda name: lines)

        class Metadata:
            def get_all(self, key: str) -> list[str]:
                return ["one", "two", "three"]

        monkeypatch.setattr(metadata, "metadata", lambda name: Metadata())
        installed.update(a="1", b="1")
        found = {finding.subject: finding for finding in doctor.extras()}
        assert found["extra one"].text == "installed"
        assert found["extra two"].text == "installed in part: c is not installed"
        assert found["extra three"].state == "note"
        assert "pip install -c constraints.txt -e '.[three]'" in found["extra three"].text

    def test_parts_that_others_bring(
        self, monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]
    ) -> None:
        """An extra of which only what others bring is there is not installed; one that builds on
        another is installed with that.
        """
        lines = [
            'torch; extra == "torch"',
            'onnx; extra == "torch"',
            'weftlens[torch]; extra == "train"',
            'lightning; extra == "train"',
            'onnx; extra == "dev"',
            'pytest; extra == "dev"',
        ]
        monkeypatch.setattr(metadata, "requires", lambda name: lines)

        class Metadata:
            def get_all(self, key: str) -> list[str]:
                return ["torch", "train", "dev"]

        monkeypatch.setattr(metadata, "metadata", lambda name: Metadata())

        def states(*there: str) -> dict[str, str]:
            installed.clear()
            installed.update(dict.fromkeys(("weftlens", *there), "1"))
            return {f.subject[6:]: f.text.partition(";")[0] for f in doctor.extras()}

        gone = "not installed"
        assert states("onnx", "pytest") == {"dev": "installed", "torch": gone, "train": gone}
        assert states("onnx", "torch") == {"dev": gone, "torch": "installed", "train": gone}
        assert states("torch", "lightning") == {
            "dev": gone,
            "torch": "installed in part: onnx is not installed",
            "train": "installed in part: onnx is not installed",
        }
        assert states("onnx", "torch", "lightning")["train"] == "installed"


class TestLibraries:
    @pytest.mark.parametrize(
        ("name", "mending"),
        [("cv2", "apt-get install libgl1"), ("httpx", "--force-reinstall httpx")],
    )
    def test_a_library_that_does_not_load(
        self, monkeypatch: pytest.MonkeyPatch, name: str, mending: str
    ) -> None:
        """Whatever a library raises at import is reported; the usual cause for OpenCV is named."""
        real = importlib.import_module

        def fail(module: str) -> Any:
            if module == name:
                raise ImportError("libGL.so.1: cannot open shared object file")
            return real(module)

        monkeypatch.setattr(importlib, "import_module", fail)
        (finding,) = doctor.libraries()
        assert finding.subject == name
        assert "libGL.so.1" in finding.text
        assert mending in finding.mending


class TestOpencv:
    def test_two_distributions(self, installed: dict[str, str]) -> None:
        """Two distributions of OpenCV overwrite each other."""
        installed.update({"opencv-python": "5", "opencv-python-headless": "4"})
        (finding,) = doctor.opencv()
        assert "opencv-python, opencv-python-headless" in finding.text

    def test_one(self) -> None:
        """One is as it should be."""
        assert list(doctor.opencv()) == []


class TestBlockLibrary:
    def test_a_plugin_that_does_not_load(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The text of the plug-in's error is shown."""
        monkeypatch.setenv("WORKFLOWS_PLUGINS", "no_such_module")
        (finding,) = doctor.block_library()
        assert finding.state == "problem"
        assert "no_such_module" in finding.text
        assert finding.mending == (
            "correct the name in WORKFLOWS_PLUGINS, or add the folder that the module lies in to "
            "PYTHONPATH"
        )

    @pytest.mark.parametrize(
        ("body", "mending"),
        [
            ("import no_such_dependency", "install 'no_such_dependency', which the plug-in needs"),
            ("1 / 0", "correct the plug-in that the text names"),
            ("def load_blocks():\n    return [5]", "correct the plug-in that the text names"),
            ("BLOCKS_SOURCE = 'workflows_core'\nload_blocks = list", "remove one of the two"),
        ],
    )
    def test_what_helps(
        self, body: str, mending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The remedy fits the fault: a module that is not found, wrong code, or a clash."""
        name = f"doctor_plugin_{abs(hash(body))}"
        (tmp_path / f"{name}.py").write_text(body, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setenv("WORKFLOWS_PLUGINS", name)
        (finding,) = doctor.block_library()
        assert finding.mending.startswith(mending)

    def test_no_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An installation without entry points has no blocks."""
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [])
        (finding,) = doctor.block_library()
        assert finding.text == "no blocks are found (plug-ins: none)"


class TestSettings:
    def test_wrong_and_unknown_variables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A value that cannot be used is a problem, a name that does nothing a note."""
        monkeypatch.setenv("WEFTLENS_PLAN_CACHE_SIZE", "0")
        monkeypatch.setenv("WEFTLENS_ALLOW_URLS", "1")
        wrong, unknown = doctor.settings()
        assert wrong.state == "problem"
        assert "WEFTLENS_PLAN_CACHE_SIZE is '0'" in wrong.text
        assert unknown == Finding(
            "note", "settings", "the variable WEFTLENS_ALLOW_URLS is no setting and does nothing"
        )

    def test_without_the_engine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """When the engine does not load, that is reported elsewhere."""
        import sys

        monkeypatch.setitem(sys.modules, "workflows.settings", None)
        assert list(doctor.settings()) == []

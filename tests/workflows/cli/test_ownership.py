"""Whether the packages that Python finds are ours."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from workflows.cli import ownership
from workflows.cli.main import main
from workflows.cli.ownership import MENDING, PACKAGES, foreign_packages, sharing_distributions

ROOT = Path(__file__).parents[3]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which `find_spec` takes packages."""

    def find(name: str) -> ModuleSpec | None:
        folder = tmp_path / name
        if not folder.is_dir():
            return None
        init = folder / "__init__.py"
        spec = ModuleSpec(name, None, origin=str(init) if init.exists() else None)
        spec.submodule_search_locations = [str(folder)]
        return spec

    monkeypatch.setattr(ownership, "find_spec", find)
    return tmp_path


class TestForeignPackages:
    def test_ours_are_ours(self) -> None:
        """Each of the four packages lies here and names the distribution."""
        assert foreign_packages() == []
        for name in PACKAGES:
            assert "weftlens" in (ROOT / name / "__init__.py").read_text(encoding="utf-8")

    def test_a_missing_package(self, elsewhere: Path) -> None:
        """A package that is not there is named with the way out."""
        assert foreign_packages(["blocks"], elsewhere) == [
            f"the package 'blocks' cannot be found. {MENDING}"
        ]

    def test_an_impossible_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever keeps Python from finding a package, it counts as missing."""

        def fail(name: str) -> None:
            raise ValueError(name)

        monkeypatch.setattr(ownership, "find_spec", fail)
        assert foreign_packages(["blocks"])[0].startswith("the package 'blocks' cannot be found")

    def test_a_folder_without_init(self, elsewhere: Path) -> None:
        """A plain folder of the same name is not our package."""
        (elsewhere / "blocks").mkdir()
        (message,) = foreign_packages(["blocks"], elsewhere)
        assert f"is a folder without an __init__.py ({elsewhere / 'blocks'})" in message

    def test_a_package_from_another_place(self, elsewhere: Path) -> None:
        """A package that shadows ours is named with both places."""
        (elsewhere / "blocks").mkdir()
        (elsewhere / "blocks" / "__init__.py").write_text("weftlens", encoding="utf-8")
        (message,) = foreign_packages(["blocks"], ROOT)
        assert message.startswith(
            f"the package 'blocks' is taken from {elsewhere / 'blocks'}, not from {ROOT / 'blocks'}"
        )

    def test_a_replaced_package(self, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A package whose file another distribution wrote over is named with that distribution."""
        (elsewhere / "workflows").mkdir()
        (elsewhere / "workflows" / "__init__.py").write_text("class Workflow: ...")
        monkeypatch.setattr(
            "importlib.metadata.packages_distributions",
            lambda: {"workflows": ["weftlens", "llama-index-workflows"]},
        )
        (message,) = foreign_packages(["workflows"], elsewhere)
        assert message == (
            f"the package 'workflows' in {elsewhere} was replaced by another distribution "
            f"(llama-index-workflows). {MENDING}"
        )

    def test_a_replaced_package_of_unknown_origin(self, elsewhere: Path) -> None:
        """Without a distribution to name, the message ends before it."""
        (elsewhere / "inference_models").mkdir()
        (elsewhere / "inference_models" / "__init__.py").write_text("")
        (message,) = foreign_packages(["inference_models"], elsewhere)
        assert "was replaced by another distribution. Install" in message


class TestSharingDistributions:
    def test_others_with_our_names(self) -> None:
        """Only other distributions with one of our four names count, each once."""
        found = sharing_distributions(
            {
                "workflows": ["weftlens", "llama-index-workflows", "llama-index-workflows"],
                "inference_models": ["inference-models"],
                "blocks": ["weftlens", "weftlens"],
                "cv2": ["opencv-python"],
            }
        )
        assert found == {
            "workflows": ["llama-index-workflows"],
            "inference_models": ["inference-models"],
        }

    def test_the_environment(self) -> None:
        """The environment of the tests has none."""
        assert sharing_distributions() == {}


class TestMain:
    def test_refuses_by_name(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """With a foreign package no command runs."""
        monkeypatch.setattr("workflows.cli.main.foreign_packages", lambda: ["the package 'x' ..."])
        assert main(["--version"]) == 1
        assert capsys.readouterr() == ("", "weftlens: the package 'x' ...\n")

    def test_the_check_needs_the_standard_library_only(self) -> None:
        """Before the check, nothing but the standard library is loaded."""
        code = (
            "import workflows.cli.main, sys\n"
            "print([m for m in ('typer', 'rich', 'numpy', 'cv2', 'pydantic') if m in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
        )
        assert done.stdout == "[]\n"

    def test_arguments_of_the_process(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Without arguments those of the process count."""
        monkeypatch.setattr(sys, "argv", ["weftlens", "--version"])
        assert main() == 0
        assert capsys.readouterr().out.startswith("weftlens ")


class TestRunApp:
    def test_wrong_usage(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An unknown command and a missing argument give exit code 2."""
        assert main(["paint"]) == 2
        assert main(["check"]) == 2
        assert "Traceback" not in capsys.readouterr().err

    def test_errors_of_the_engine_are_text(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A setting that cannot be used is reported without a traceback."""
        monkeypatch.setenv("WEFTLENS_PLAN_CACHE_SIZE", "none")
        assert main(["blocks", "list"]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("weftlens: The environment has settings that cannot be used")

    def test_other_errors_are_not_hidden(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A fault of ours keeps its traceback."""

        def fail(*arguments: Any) -> int:
            raise RuntimeError("a bug")

        monkeypatch.setattr("workflows.cli.blocks.list_blocks", fail)
        with pytest.raises(RuntimeError, match="a bug"):
            main(["blocks"])

    def test_interrupted(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """An interrupt ends with a word and the usual exit code."""

        def interrupt(*arguments: Any) -> int:
            raise KeyboardInterrupt

        monkeypatch.setattr("workflows.cli.blocks.list_blocks", interrupt)
        assert main(["blocks"]) == 130
        assert "Traceback" not in capsys.readouterr().err

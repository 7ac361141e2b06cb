"""Ids of models as folders."""

from __future__ import annotations

import dataclasses
import unicodedata
from pathlib import Path

import pytest

from inference_models.errors import InsecureModelIdentifierError
from inference_models.packages.loader import load_package
from inference_models.packages.package import ModelPackage
from inference_models.shipped import shipped_models
from workflows.model_folder.naming import checked_id, folder_of, id_from_source


class TestCheckedId:
    @pytest.mark.parametrize("model_id", ["parts/1", "münze-硬币/v2", "a b/1.0", "x/2026-11-30"])
    def test_good(self, model_id: str) -> None:
        """Names of any language are ids."""
        assert checked_id(model_id) == model_id

    def test_one_form_of_accents(self) -> None:
        """Both ways to write an accented letter are one id."""
        decomposed = unicodedata.normalize("NFD", "münze/1")
        assert checked_id(decomposed) == "münze/1"

    @pytest.mark.parametrize(
        "model_id",
        [
            "", "parts", "a/b/c", "/parts/1", "parts/", "/1", "../parts", "parts/..", "./parts/1",
            "a/../b", "..%2f/1", "~/parts", "C:/parts", "a\\b/1", "a\0/1", "a\n/1", "a/1.onnx",
            ".hidden/1", "a/.1", "a /1", "a/1 ", "a/1.", 'a"/1', "a*/1", "x" * 201 + "/1",
            "硬" * 67 + "/1", "file:a/1", "a\u202e/1", ".weftlens-incoming/1",
        ],
    )  # fmt: skip
    def test_bad(self, model_id: str) -> None:
        """What leaves the folder, hides, or is no folder name somewhere is refused."""
        with pytest.raises(InsecureModelIdentifierError, match="cannot be used"):
            checked_id(model_id)

    def test_message(self) -> None:
        """The message says what is wrong and what is expected."""
        with pytest.raises(InsecureModelIdentifierError) as caught:
            checked_id("a/../b")
        assert str(caught.value) == (
            "model id 'a/../b' cannot be used: it has 3 parts between slashes; expected "
            "name/version, such as parts/1"
        )


class TestFolderOf:
    def test_below_the_folder(self) -> None:
        """A model lies at name/version."""
        assert folder_of(Path("m"), "a/1") == Path("m/a/1")


class TestIdFromSource:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [("parts/3", "parts/3"), ("parts/v3", "parts/v3"), ("parts", "parts/1")],
    )
    def test_folders(self, source: str, expected: str, tmp_path: Path) -> None:
        """A folder that is called like a version belongs to the one above."""
        (tmp_path / source).mkdir(parents=True)
        assert id_from_source(tmp_path / source, self.package(None)) == expected

    def test_a_lone_file(self, tmp_path: Path) -> None:
        """A file gives its name."""
        (tmp_path / "best.onnx").touch()
        assert id_from_source(tmp_path / "best.onnx", self.package(None)) == "best/1"

    @pytest.mark.parametrize(("own", "expected"), [("coins/7", "coins/7"), ("../x", "parts/1")])
    def test_its_own_id(self, own: str, expected: str, tmp_path: Path) -> None:
        """A package that has an id keeps it, unless it is no safe one."""
        (tmp_path / "parts").mkdir()
        assert id_from_source(tmp_path / "parts", self.package(own)) == expected

    def package(self, model_id: str | None) -> ModelPackage:
        """A package that gives itself an id."""
        package = load_package(shipped_models() / "parts-seg" / "1")
        return dataclasses.replace(package, model_id=model_id)

"""Models that are copied into a folder: whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from inference_models.errors import (
    CorruptedModelPackageError,
    InsecureModelIdentifierError,
    InvalidModelInitParameterError,
    ModelNotFoundError,
    ModelRetrievalError,
)
from inference_models.manager.resolution import ModelResolver
from inference_models.packages.loader import load_package
from tests.workflows.locking.conftest import write_model
from workflows.model_folder import adding
from workflows.model_folder.adding import STAGING, add_model


def everything(folder: Path) -> list[str]:
    """Paths of all that is below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


class TestAddModel:
    def test_a_folder(self, source: Path, folder: Path) -> None:
        """All files are there with their digests in the form of sha256sum, and nothing else."""
        assert add_model(folder, source, "coins/2") == "coins/2"
        target = folder / "coins" / "2"
        assert [name for name in everything(target) if name != "SHA256SUMS"] == everything(source)
        assert everything(folder)[0] == "coins"
        if shutil.which("sha256sum"):
            subprocess.run(
                ["sha256sum", "-c", "SHA256SUMS"], cwd=target, check=True, capture_output=True
            )
        assert ModelResolver([folder]).known_ids() == ["coins/2"]

    def test_a_lone_file(self, folder: Path, tmp_path: Path) -> None:
        """A file that says what it is becomes a package."""
        onnx = pytest.importorskip("onnx")
        helper, kind = onnx.helper, onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            [helper.make_node("Identity", ["images"], ["output0"])],
            "g",
            [helper.make_tensor_value_info("images", kind, [1, 3, 64, 64])],
            [helper.make_tensor_value_info("output0", kind, [1, 3, 64, 64])],
        )
        model = helper.make_model(graph)
        texts = {"task": "detect", "names": "{0: 'a', 1: 'b'}", "imgsz": "[64, 64]", "stride": "32"}
        for key, value in texts.items():
            model.metadata_props.add(key=key, value=value)
        path = tmp_path / "best.onnx"
        onnx.save(model, path)
        lone = load_package(path)
        assert add_model(folder, path) == "best/1"
        package = load_package(folder / "best" / "1")
        assert (package.class_names, package.task) == (lone.class_names, lone.task)
        assert package.inference == lone.inference
        assert package.weights.read_bytes() == path.read_bytes()

    def test_links_become_files(self, source: Path, folder: Path, tmp_path: Path) -> None:
        """A link to a file, as caches of downloads have them, is copied as its content."""
        weights = source / "weights.onnx"
        weights.rename(tmp_path / "blob")
        weights.symlink_to(tmp_path / "blob")
        add_model(folder, source, "a/1")
        copy = folder / "a" / "1" / "weights.onnx"
        assert not copy.is_symlink()
        assert copy.read_bytes() == (tmp_path / "blob").read_bytes()

    def test_digests_that_came_along_are_checked(self, source: Path, folder: Path) -> None:
        """A source that is not what its own SHA256SUMS says is refused."""
        add_model(folder, source, "a/1")
        added = folder / "a" / "1"
        (added / "weights.onnx").write_bytes(b"changed")
        (added / "more").write_bytes(b"")
        with pytest.raises(CorruptedModelPackageError) as caught:
            add_model(folder, added, "b/1")
        assert str(caught.value) == (
            f"{added} is not what its SHA256SUMS says (changed: weights.onnx; new: more)"
        )
        (added / "SHA256SUMS").write_text("nonsense\n", encoding="utf-8")
        with pytest.raises(CorruptedModelPackageError, match="SHA256SUMS, line 1: expected"):
            add_model(folder, added, "b/1")

    def test_there_already(self, source: Path, folder: Path) -> None:
        """A model is never replaced."""
        add_model(folder, source, "a/1")
        with pytest.raises(InvalidModelInitParameterError) as caught:
            add_model(folder, source, "a/1")
        assert str(caught.value) == (
            f'model "a/1" is in {folder} already (remove it first: weftlens models remove a/1)'
        )

    @pytest.mark.parametrize("model_id", ["", "../a/1", "a/..", "/tmp/1", "a/1/2", ".x/1"])
    def test_ids_that_leave_the_folder(self, model_id: str, source: Path, folder: Path) -> None:
        """Nothing is written for a bad id."""
        with pytest.raises(InsecureModelIdentifierError):
            add_model(folder, source, model_id)
        assert not folder.exists()

    def test_no_model(self, folder: Path, tmp_path: Path) -> None:
        """What is no model is refused before anything is copied."""
        with pytest.raises(ModelNotFoundError):
            add_model(folder, tmp_path / "none", "a/1")
        with pytest.raises(CorruptedModelPackageError):
            add_model(folder, tmp_path, "a/1")
        assert not folder.exists()

    def test_what_is_no_file(self, source: Path, folder: Path, tmp_path: Path) -> None:
        """Pipes and links to folders are refused, and nothing is left."""
        os.mkfifo(source / "pipe")
        with pytest.raises(CorruptedModelPackageError, match="pipe is no regular file"):
            add_model(folder, source, "a/1")
        (source / "pipe").unlink()
        (source / "far").symlink_to(tmp_path)
        with pytest.raises(CorruptedModelPackageError, match="far is a link to a folder"):
            add_model(folder, source, "a/1")
        assert everything(folder) == []


class TestFailures:
    def test_a_full_disk(self, source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A copy that does not fit leaves nothing behind and says so."""
        copied: list[str] = []

        def full(origin: Path, copy: Path) -> None:
            if copied:
                raise OSError(errno.ENOSPC, "No space left on device", str(copy))
            copied.append(str(copy))
            Path(copy).write_bytes(b"half")

        monkeypatch.setattr(adding.shutil, "copyfile", full)
        with pytest.raises(ModelRetrievalError) as caught:
            add_model(folder, source, "a/1")
        assert str(caught.value) == (
            f'model "a/1" does not fit: the disk of {folder}/a is full (nothing was left behind)'
        )
        assert copied
        assert everything(folder) == []

    def test_interrupted(self, source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ctrl-C leaves nothing behind."""

        def stop(content: Path) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(adding, "_finish", stop)
        with pytest.raises(KeyboardInterrupt):
            add_model(folder, source, "a/1")
        assert everything(folder) == []

    def test_the_source_changes_meanwhile(
        self, source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A copy that is no model any more is not shown."""
        copy = shutil.copyfile

        def spoil(origin: Path, target: Path) -> Any:
            if Path(target).name == "model_config.json":
                return Path(target).write_text("{", encoding="utf-8")
            return copy(origin, target)

        monkeypatch.setattr(adding.shutil, "copyfile", spoil)
        with pytest.raises(CorruptedModelPackageError):
            add_model(folder, source, "a/1")
        assert everything(folder) == []

    def test_no_permission(self, source: Path, tmp_path: Path) -> None:
        """A folder of models that is a file is an error in words."""
        (tmp_path / "file").touch()
        with pytest.raises(ModelRetrievalError, match='model "a/1" cannot be copied to'):
            add_model(tmp_path / "file", source, "a/1")


class TestVisibility:
    def test_a_partial_copy_is_never_seen(
        self, source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While the files are copied, no list shows the model and no id leads to it."""
        seen: list[list[str]] = []
        copy = shutil.copyfile

        def watched(origin: Path, target: Path) -> Any:
            result = copy(origin, target)
            seen.append(ModelResolver([folder]).known_ids())
            return result

        monkeypatch.setattr(adding.shutil, "copyfile", watched)
        add_model(folder, source, "a/1")
        assert len(seen) == 3
        assert seen == [[]] * 3

    def test_two_at_once(self, source: Path, folder: Path, tmp_path: Path) -> None:
        """Of two that add the same id at the same time, one does, and the model is whole."""
        write_model(tmp_path / "two", "parts/1", b"another model")
        results: list[str] = []
        barrier = threading.Barrier(2)

        def add(place: Path) -> None:
            barrier.wait(timeout=30)
            try:
                results.append(add_model(folder, place, "a/1"))
            except (InvalidModelInitParameterError, ModelRetrievalError) as error:
                results.append(type(error).__name__)

        threads = [
            threading.Thread(target=add, args=(place,))
            for place in (source, tmp_path / "two" / "parts" / "1")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results.count("a/1") == 1
        assert [path.name for path in folder.iterdir()] == ["a"]
        assert len(everything(folder / "a" / "1")) in (3, 5)

    def test_abandoned_copies_are_swept(self, source: Path, folder: Path) -> None:
        """What a killed copy left is removed after a day; a younger one may be under way."""
        old, young = folder / STAGING / "old", folder / STAGING / "young"
        old.mkdir(parents=True)
        young.mkdir()
        os.utime(old, (time.time() - 90_000,) * 2)
        add_model(folder, source, "a/1")
        assert not old.exists()
        assert young.exists()

"""Locks that hold and locks that do not: each difference is refused by name, all at once."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workflows.locking.checks as checks_module
from inference_models.manager import ModelManager
from tests.workflows.locking.conftest import MakeSession, write_model
from workflows import Workflow, run_locally
from workflows.locking.errors import LockDriftError, WorkflowLockError
from workflows.locking.lock_file import Lock, parse_lock, write_lock
from workflows.locking.making import make_lock
from workflows.model_folder import package_files

RUN = {"image": "unused"}


def drifts(call: Callable[[], object]) -> list[tuple[str, str]]:
    """Codes and places of what a call refuses."""
    with pytest.raises(LockDriftError) as caught:
        call()
    return [(drift.code, drift.where) for drift in caught.value.drifts]


@pytest.fixture
def plain(definition: dict[str, Any]) -> dict[str, Any]:
    """The workflow without its image, so that it runs without a picture."""
    del definition["steps"][3]
    definition["inputs"] = definition["inputs"][1:]
    return definition


class TestRunLocally:
    def test_a_lock_that_holds(self, make_session: MakeSession, plain: dict[str, Any]) -> None:
        """The run gives what it gives without a lock."""
        session = make_session()
        lock = make_lock(session, plain)
        result = run_locally(plain, {}, session=session, lock=lock)
        assert result == [{"sum": 2.0, "model": "a/1"}]

    @pytest.mark.parametrize("form", ["object", "path", "text of a path", "lock"])
    def test_every_form_of_a_lock(
        self, form: str, make_session: MakeSession, plain: dict[str, Any], tmp_path: Path
    ) -> None:
        """A lock may be a path, a JSON object or a `Lock`."""
        session = make_session()
        lock = make_lock(session, plain)
        path = tmp_path / "w.lock.json"
        write_lock(lock, path)
        given: Any = {
            "object": json.loads(lock.to_text()),
            "path": path,
            "text of a path": str(path),
            "lock": lock,
        }[form]
        assert run_locally(plain, {}, session=session, lock=given) == [{"sum": 2.0, "model": "a/1"}]

    def test_the_file_of_a_workflow_object(
        self, make_session: MakeSession, plain: dict[str, Any]
    ) -> None:
        """The command that accepts a difference names the file the workflow was read from."""
        session = make_session()
        lock = make_lock(session, {**plain, "outputs": []})
        workflow = Workflow(plain, origin="shop/count.json", session=session)
        with pytest.raises(LockDriftError) as caught:
            run_locally(workflow, {}, session=session, lock=lock)
        assert caught.value.accept == "weftlens lock shop/count.json"
        with pytest.raises(LockDriftError) as caught:
            run_locally(plain, {}, session=session, lock=lock)
        assert caught.value.accept == "weftlens lock WORKFLOW"

    def test_models_of_another_manager(
        self, make_session: MakeSession, plain: dict[str, Any], models: Path, tmp_path: Path
    ) -> None:
        """With a manager of the caller's, its models are the ones that are checked."""
        session = make_session()
        lock = make_lock(session, plain)
        write_model(tmp_path / "others", "a/1", b"other weights")
        with ModelManager(model_directories=[tmp_path / "others"]) as manager:
            given = {"model_manager": manager}
            found = drifts(
                lambda: run_locally(plain, {}, session=session, lock=lock, init_parameters=given)
            )
        assert found == [("model_file", "/models/a~11/files/weights.onnx")]

    def test_no_lock(
        self, make_session: MakeSession, plain: dict[str, Any], tmp_path: Path
    ) -> None:
        """A missing lock refuses the run."""
        with pytest.raises(WorkflowLockError, match="There is no lock file"):
            run_locally(plain, {}, session=make_session(), lock=tmp_path / "none.lock.json")

    def test_another_type(self, make_session: MakeSession, plain: dict[str, Any]) -> None:
        """What can be no lock is a programming error."""
        with pytest.raises(TypeError) as caught:
            run_locally(plain, {}, session=make_session(), lock=7)  # type: ignore[arg-type]
        assert str(caught.value) == "a lock is a path, a JSON object or a Lock, got int"

    def test_whole_text(
        self, make_session: MakeSession, plain: dict[str, Any], models: Path, tmp_path: Path
    ) -> None:
        """Every difference at once: what, locked, found, and the command that accepts it all."""
        lock = make_lock(make_session(), plain, {"model": ["b/1"]})
        old = parse_lock({**json.loads(lock.to_text()), "engine": "1.16.0"})
        workflow, path = tmp_path / "w.json", tmp_path / "w.lock.json"
        workflow.write_text(json.dumps(plain), encoding="utf-8")
        write_lock(old, path)
        (models / "a" / "1" / "notes.txt").write_text("new", encoding="utf-8")
        after = make_session(default=3.0)
        with pytest.raises(LockDriftError) as caught:
            run_locally(workflow, {"model": "c/1"}, session=after, lock=path)
        before, now = (
            make_lock(one, plain).blocks["acme/shift@v1"].manifest[:19]
            for one in (make_session(), after)
        )
        note = "sha256:" + hashlib.sha256(b"new").hexdigest()[:12]
        assert str(caught.value) == (
            f"The lock {path} does not hold: 4 differences\n"
            "  1. The version of the engine [engine_version]\n"
            "     locked: 1.16.0\n"
            "     found:  1.17.0\n"
            "     Install a weftlens with engine 1.16.0 to get back (weftlens --version).\n"
            "  2. The manifest of acme/shift@v1 (step shift) [block_manifest]\n"
            f"     locked: {before}\n"
            f"     found:  {now}\n"
            "  3. The model that input 'model' names [model_choice]\n"
            "     locked: a/1 or b/1\n"
            "     found:  c/1\n"
            "  4. File notes.txt of model 'a/1' [model_file]\n"
            "     locked: nothing\n"
            f"     found:  {note}\n"
            "     `weftlens models verify a/1` says what changed here.\n"
            f"To accept what is there now: weftlens lock {workflow} --model model=b/1 "
            "--model model=c/1"
        )


class TestDrift:
    """One change, one refusal; `lock` is that of the unchanged workflow."""

    @pytest.fixture
    def lock(self, make_session: MakeSession, plain: dict[str, Any]) -> Lock:
        return make_lock(make_session(), plain)

    @pytest.mark.parametrize(
        "manifest",
        [{"default": 1.5}, {"description": "Added to the value!"}],
        ids=["a default", "one byte of a text"],
    )
    def test_manifest(
        self, manifest: Any, lock: Lock, make_session: MakeSession, plain: dict[str, Any]
    ) -> None:
        """A default or one byte of a text is another manifest."""
        session = make_session(**manifest)
        found = drifts(lambda: run_locally(plain, {}, session=session, lock=lock))
        assert found == [("block_manifest", "/blocks/acme~1shift@v1/manifest")]

    def test_engine(
        self, lock: Lock, make_session: MakeSession, plain: dict[str, Any],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """Another engine is refused."""
        monkeypatch.setattr(checks_module, "ENGINE_VERSION", "1.18.0")
        found = drifts(lambda: run_locally(plain, {}, session=make_session(), lock=lock))
        assert found == [("engine_version", "/engine")]

    def test_behaviour(
        self, make_session: MakeSession, definition: dict[str, Any],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """Other released outputs of one of our blocks are refused."""
        lock = make_lock(make_session(), definition)
        monkeypatch.setattr(
            "workflows.locking.block_pins.behaviour_digests",
            lambda: {"roboflow_core/absolute_static_crop@v1": "sha256:" + "0" * 64},
        )
        found = drifts(lambda: make_session().locks.check(definition, lock))
        place = "/blocks/roboflow_core~1absolute_static_crop@v1/behaviour"
        assert found == [("block_behaviour", place)]

    @pytest.mark.parametrize("name", ["model_config.json", "weights.onnx"])
    def test_one_byte_of_a_model(
        self, name: str, lock: Lock, make_session: MakeSession, plain: dict[str, Any], models: Path
    ) -> None:
        """A byte of a file changes, its size and time do not: it is seen in the same session."""
        session = make_session()
        run_locally(plain, {}, session=session, lock=lock)
        path = models / "a" / "1" / name
        times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
        content = bytearray(path.read_bytes())
        content[-2] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=times)
        found = drifts(lambda: run_locally(plain, {}, session=session, lock=lock))
        assert found == [("model_file", f"/models/a~11/files/{name}")]

    def test_a_file_more_and_a_file_less(
        self, lock: Lock, make_session: MakeSession, plain: dict[str, Any], models: Path
    ) -> None:
        """New and missing files of a model are named."""
        session = make_session()
        session.locks.check(plain, lock)
        (models / "a" / "1" / "weights.onnx").rename(models / "a" / "1" / "weights.onnx.data")
        found = drifts(lambda: session.locks.check(plain, lock))
        assert found == [
            ("model_file", "/models/a~11/files/weights.onnx"),
            ("model_file", "/models/a~11/files/weights.onnx.data"),
        ]

    def test_a_model_that_is_gone(
        self, lock: Lock, make_session: MakeSession, plain: dict[str, Any], models: Path
    ) -> None:
        """A model that cannot be found any more is named."""
        (models / "a").rename(models / "z")
        found = drifts(lambda: run_locally(plain, {}, session=make_session(), lock=lock))
        assert found == [("model", "/models/a~11")]

    def test_another_model_for_an_input(
        self, lock: Lock, make_session: MakeSession, plain: dict[str, Any]
    ) -> None:
        """A model that is there, but not locked for the input, is refused."""
        session = make_session()
        found = drifts(lambda: run_locally(plain, {"model": "b/1"}, session=session, lock=lock))
        assert found == [("model_choice", "/model_inputs/model")]
        both = make_lock(session, plain, {"model": ["b/1"]})
        (row,) = run_locally(plain, {"model": "b/1"}, session=session, lock=both)
        assert row["model"] == "b/1"

    def test_models_of_other_runs_do_not_matter(
        self, make_session: MakeSession, plain: dict[str, Any], models: Path
    ) -> None:
        """A run needs only its own models; the check of the whole lock needs all of them."""
        lock = make_lock(make_session(), plain, {"model": ["b/1"]})
        (models / "b" / "1" / "weights.onnx").write_bytes(b"changed")
        session = make_session()
        run_locally(plain, {}, session=session, lock=lock)
        assert drifts(lambda: session.locks.check(plain, lock)) == [
            ("model_file", "/models/b~11/files/weights.onnx")
        ]

    def test_another_workflow(
        self, lock: Lock, make_session: MakeSession, plain: dict[str, Any]
    ) -> None:
        """A lock does not fit another workflow; steps that differ are named."""
        plain["steps"][0]["name"] = "moved"
        plain["outputs"] = []
        found = drifts(lambda: run_locally(plain, {}, session=make_session(), lock=lock))
        assert found == [
            ("workflow", "/definition"), ("step", "/steps/moved"), ("step", "/steps/shift"),
        ]  # fmt: skip

    def test_a_changed_field(
        self, lock: Lock, make_session: MakeSession, plain: dict[str, Any]
    ) -> None:
        """A field of a step that changed is another workflow."""
        plain["steps"][0]["amount"] = 2.5
        with pytest.raises(LockDriftError) as caught:
            run_locally(plain, {}, session=make_session(), lock=lock)
        (drift,) = caught.value.drifts
        assert drift.hint == (
            "Its steps and blocks are the same; fields of steps, inputs or outputs differ: "
            "compare with version control."
        )

    def test_as_json(self, lock: Lock, make_session: MakeSession, plain: dict[str, Any]) -> None:
        """A difference has plain parts for programs."""
        with pytest.raises(LockDriftError) as caught:
            run_locally(plain, {"model": "b/1"}, session=make_session(), lock=lock)
        assert [drift.to_dict() for drift in caught.value.drifts] == [
            {
                "code": "model_choice",
                "what": "The model that input 'model' names",
                "locked": "a/1",
                "found": "b/1",
                "where": "/model_inputs/model",
                "hint": None,
            }
        ]


class TestDistributions:
    def write(self, folder: Path, version: str) -> None:
        """An installed distribution, as far as its metadata go."""
        info = folder / "acme_blocks-1.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: acme-blocks\nVersion: {version}\n", encoding="utf-8"
        )

    def test_another_version(
        self, make_session: MakeSession, plain: dict[str, Any], tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """Another version of a third-party distribution is refused, with the way back."""
        monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
        self.write(tmp_path / "site", "1.2.0")
        lock = make_lock(make_session(), plain)
        assert lock.distributions == {"acme-blocks": "1.2.0"}
        assert lock.blocks["acme/shift@v1"].code is None
        self.write(tmp_path / "site", "1.3.0")
        with pytest.raises(LockDriftError) as caught:
            run_locally(plain, {}, session=make_session(), lock=lock)
        (drift,) = caught.value.drifts
        assert str(drift) == (
            "The version of the distribution 'acme-blocks': locked 1.2.0, found 1.3.0. "
            "pip install 'acme-blocks==1.2.0' gets back to it."
        )


class TestCost:
    def test_files_are_hashed_once(
        self, make_session: MakeSession, plain: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A second check of unchanged files, written some time ago, reads none of them."""
        monkeypatch.setattr(package_files, "_SETTLED_NS", -1)
        session = make_session()
        lock = make_lock(session, plain)
        hashed = session.locks.files.hashed_bytes
        assert hashed > 0
        session.locks.check(plain, lock)
        session.locks.check(plain, lock, {})
        assert session.locks.files.hashed_bytes == hashed

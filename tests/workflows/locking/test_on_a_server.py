"""Locks on a server: sent along with a request, and of stored workflows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

import workflows.locking.checks as checks_module
from tests.workflows.locking.conftest import MakeSession
from tests.workflows.remote.live import live_server
from workflows import run_remotely
from workflows.cli.main import main
from workflows.locking.errors import LockDriftError, WorkflowLockError
from workflows.locking.lock_file import Lock, lock_path, write_lock
from workflows.locking.making import make_lock
from workflows.remote.errors import ServerAnswerError
from workflows.server.app import create_app
from workflows.server.settings import ServerSettings
from workflows.server.workflow_locks import find_unlocked
from workflows.session import Session

RESULT = [{"sum": 2.0, "model": "a/1"}]


@pytest.fixture
def plain(definition: dict[str, Any]) -> dict[str, Any]:
    """The workflow without its image."""
    del definition["steps"][3]
    definition["inputs"] = definition["inputs"][1:]
    return definition


@pytest.fixture
def stored(tmp_path: Path, plain: dict[str, Any]) -> Path:
    """A folder of stored workflows with one in it."""
    folder = tmp_path / "stored"
    folder.mkdir()
    (folder / "mix.json").write_text(json.dumps(plain), encoding="utf-8")
    return folder


def client_of(session: Session, **given: Any) -> TestClient:
    """A client of an application; the test enters it."""
    return TestClient(create_app(session, ServerSettings(**given)), base_url="http://localhost")


class TestLockOfARequest:
    @pytest.fixture
    def lock(self, make_session: MakeSession, plain: dict[str, Any]) -> Lock:
        return make_lock(make_session(), plain)

    def run(
        self, session: Session, plain: dict[str, Any], lock: Any, inputs: Any = None
    ) -> tuple[int, dict[str, Any]]:
        """Status and body of a run with a lock."""
        with client_of(session) as client:
            body = {"specification": plain, "inputs": inputs or {}, "lock": lock}
            answer = client.post("/workflows/run", json=body)
            return answer.status_code, answer.json()

    def test_holds(self, lock: Lock, make_session: MakeSession, plain: dict[str, Any]) -> None:
        """The answer is that of a run, and says which lock was checked."""
        status, body = self.run(make_session(), plain, json.loads(lock.to_text()))
        assert (status, body) == (200, {"outputs": RESULT, "lock_digest": lock.digest})

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ("a default", "block_manifest"),
            ("one byte of a text", "block_manifest"),
            ("one byte of a model", "model_file"),
            ("the engine", "engine_version"),
            ("a distribution", "distribution_version"),
            ("a model by an input", "model_choice"),
            ("another workflow", "workflow"),
        ],
    )
    def test_each_difference(
        self,
        change: str,
        code: str,
        lock: Lock,
        make_session: MakeSession,
        plain: dict[str, Any],
        models: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Each is refused by name with 409."""
        data, inputs, manifest = json.loads(lock.to_text()), {}, {}
        if change == "a default":
            manifest = {"default": 1.5}
        elif change == "one byte of a text":
            manifest = {"description": "Added to the value!"}
        elif change == "one byte of a model":
            (models / "a" / "1" / "weights.onnx").write_bytes(b"not opened herE")
        elif change == "the engine":
            monkeypatch.setattr(checks_module, "ENGINE_VERSION", "1.18.0")
        elif change == "a distribution":
            data["distributions"] = {"acme-blocks": "1.2.0"}
        elif change == "a model by an input":
            inputs = {"model": "b/1"}
        else:
            plain["steps"][0]["amount"] = 3.0
        status, body = self.run(make_session(**manifest), plain, data, inputs)
        assert status == 409
        assert body["error_type"] == "LockDriftError"
        assert [drift["code"] for drift in body["lock_drift"]["drifts"]] == [code]
        assert body["message"].startswith("The lock does not hold: 1 difference\n")

    @pytest.mark.parametrize("lock", [{}, {"lock_version": 9}, {"lock_version": 1}])
    def test_no_lock(
        self,
        lock: Any,
        make_session: MakeSession,
        plain: dict[str, Any],
    ) -> None:
        """What is no lock is the client's fault."""
        status, body = self.run(make_session(), plain, lock)
        assert (status, body["error_type"]) == (400, "WorkflowLockError")

    def test_not_an_object(
        self,
        make_session: MakeSession,
        plain: dict[str, Any],
    ) -> None:
        """A path of a lock is not read on the server."""
        status, body = self.run(make_session(), plain, "/etc/passwd")
        assert status == 400
        assert "lock" in body["message"]


class TestRunRemotely:
    @pytest.fixture
    def server(self, make_session: MakeSession) -> Iterator[Any]:
        with live_server(make_session()) as server:
            yield server

    def test_holds_and_does_not(
        self, server: Any, plain: dict[str, Any], models: Path, tmp_path: Path,
        make_session: MakeSession,
    ) -> None:  # fmt: skip
        """The lock is held against the server; the error is that of a local run."""
        path = tmp_path / "w.lock.json"
        write_lock(make_lock(server.session, plain), path)
        own = make_session()

        def run(**inputs: Any) -> Any:
            return run_remotely(plain, inputs, server=server.url, lock=path, session=own)

        assert run() == RESULT
        (models / "a" / "1" / "more").touch()
        with pytest.raises(LockDriftError) as caught:
            run(model="b/1")
        assert [drift.code for drift in caught.value.drifts] == ["model_choice", "model_file"]
        assert caught.value.drifts[1].found.startswith("sha256:e3b0c44298fc")
        assert caught.value.__notes__ == [f"Raised by the server {server.url}."]

    def test_no_lock(self, server: Any, plain: dict[str, Any], tmp_path: Path) -> None:
        """A lock that cannot be read is refused before anything is sent."""
        with pytest.raises(WorkflowLockError, match="There is no lock file"):
            run_remotely(plain, {}, server=server.url, lock=tmp_path / "none.lock.json")

    def test_a_server_that_knows_no_locks(
        self, server: Any, plain: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An answer that does not confirm the lock is refused."""
        lock = make_lock(server.session, plain)
        monkeypatch.setattr("workflows.server.workflow_run.check_locks", lambda *_: None)
        with pytest.raises(ServerAnswerError, match="does not say that it checked the lock"):
            run_remotely(plain, {}, server=server.url, lock=lock, session=server.session)


class TestLockedServer:
    def test_stored_workflows(
        self,
        make_session: MakeSession,
        stored: Path,
        plain: dict[str, Any],
    ) -> None:
        """A stored workflow runs as long as its lock holds."""
        session = make_session()
        write_lock(make_lock(session, plain), stored / "mix.lock.json")
        with client_of(session, workflows=stored, locked=True) as client:
            assert client.post("/any/workflows/mix", json={}).json() == {"outputs": RESULT}
            answer = client.post("/any/workflows/mix", json={"inputs": {"model": "b/1"}})
            assert answer.status_code == 409
            text = answer.json()["message"]
            assert text.startswith("The lock <folder>/mix.lock.json does not hold: 1 difference\n")
            assert str(stored) not in text
            (stored / "mix.json").write_text(json.dumps({**plain, "outputs": []}), "utf-8")
            assert client.post("/any/workflows/mix", json={}).status_code == 409
            (stored / "mix.lock.json").unlink()
            answer = client.post("/any/workflows/mix", json={})
            assert answer.status_code == 400
            assert answer.json()["error_type"] == "WorkflowLockError"

    def test_workflows_that_are_sent_along(
        self,
        make_session: MakeSession,
        plain: dict[str, Any],
    ) -> None:
        """They need a lock."""
        session = make_session()
        lock = json.loads(make_lock(session, plain).to_text())
        with client_of(session, locked=True) as client:
            answer = client.post("/workflows/run", json={"specification": plain})
            assert (answer.status_code, answer.json()["message"]) == (
                400,
                "This server runs only what is locked; send the lock of the workflow along as "
                "`lock`.",
            )
            answer = client.post("/workflows/run", json={"specification": plain, "lock": lock})
            assert answer.status_code == 200

    def test_a_lock_is_no_workflow(
        self,
        make_session: MakeSession,
        stored: Path,
        plain: dict[str, Any],
    ) -> None:
        """Lock files are not served under an id of their own."""
        session = make_session()
        write_lock(make_lock(session, plain), stored / "mix.lock.json")
        with client_of(session, workflows=stored) as client:
            assert client.post("/any/workflows/mix.lock", json={}).status_code == 404


class TestFindUnlocked:
    def test_every_workflow_without_a_lock_that_holds(
        self,
        make_session: MakeSession,
        stored: Path,
        plain: dict[str, Any],
    ) -> None:
        """Workflows of workspaces are looked at, too; all faults are found."""
        session = make_session()
        shop = stored / "shop"
        shop.mkdir()
        names = {"good": plain, "bare": plain, "changed": plain, "bad": {"version": "1.0"}}
        for name, content in names.items():
            (shop / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
        for path in (stored / "mix.json", shop / "good.json"):
            write_lock(make_lock(session, plain), lock_path(path))
        other = make_lock(session, {**plain, "outputs": []})
        write_lock(other, lock_path(shop / "changed.json"))
        found = {path.stem: type(error).__name__ for path, error in find_unlocked(session, stored)}
        assert found == {
            "bad": "WorkflowLockError", "bare": "WorkflowLockError", "changed": "LockDriftError",
        }  # fmt: skip

    def test_no_folder(self, make_session: MakeSession, tmp_path: Path) -> None:
        """A folder that is not there is a fault."""
        ((path, _),) = find_unlocked(make_session(), tmp_path / "none")
        assert path == tmp_path / "none"


class TestServeCommand:
    def test_refuses_to_start(
        self, workflow_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
    ) -> None:
        """`serve --locked` names every workflow that is not locked and does not listen."""
        monkeypatch.setattr("workflows.server.serving.serve", lambda app: pytest.fail("served"))
        folder = workflow_file.parent
        assert main(["serve", "--locked", "--workflows", str(folder), "--port", "0"]) == 1
        err = capsys.readouterr().err
        assert f"There is no lock file '{folder}/blur.lock.json'" in err
        assert re.search(r"weftlens serve: not started, 1 not locked or not as locked\n$", err)

    def test_starts(self, workflow_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """With locks that hold it serves."""
        served: list[Any] = []
        monkeypatch.setattr("workflows.server.serving.serve", served.append)
        assert main(["lock", str(workflow_file)]) == 0
        folder = str(workflow_file.parent)
        assert main(["serve", "--locked", "--workflows", folder, "--port", "0"]) == 0
        assert served[0].state.host.settings.locked
        served[0].state.host.session.close()
        served[0].state.host.admission.close()

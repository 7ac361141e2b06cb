"""Locks that are made of workflows."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blocks.index import behaviour_digests
from blocks.plugin import core_plugin
from execution_engine import BlockRegistry, Plugin
from execution_engine.errors import WorkflowCompilerError
from execution_engine.versions import ENGINE_VERSION
from tests.workflows.locking.conftest import MakeSession, name_model_block, shift_block
from workflows import Session, WeftlensSettings
from workflows.locking.errors import WorkflowLockError
from workflows.locking.making import make_lock

ROOT = Path(__file__).parents[3]


class TestMakeLock:
    def test_content(
        self, make_session: MakeSession, definition: dict[str, Any], models: Path
    ) -> None:
        """Aliases become versions, each block and model is held by its digests."""
        lock = make_lock(make_session(), definition)
        assert lock.engine == ENGINE_VERSION
        assert lock.steps == {
            "shift": "acme/shift@v1",
            "fixed": "acme/which@v1",
            "chosen": "acme/which@v1",
            "crop": "roboflow_core/absolute_static_crop@v1",
        }
        crop = lock.blocks["roboflow_core/absolute_static_crop@v1"]
        assert (crop.distribution, crop.version, crop.code) == ("weftlens", "v1", None)
        assert crop.behaviour == behaviour_digests()["roboflow_core/absolute_static_crop@v1"]
        shift = lock.blocks["acme/shift@v1"]
        assert (shift.distribution, shift.behaviour) == ("acme-blocks", None)
        assert lock.model_inputs == {"model": ["a/1"]}
        assert list(lock.models) == ["a/1"]
        for name, digest in lock.models["a/1"].files.items():
            content = (models / "a" / "1" / name).read_bytes()
            assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"

    def test_without_a_distribution_the_code_is_held(
        self, make_session: MakeSession, definition: dict[str, Any]
    ) -> None:
        """A plug-in that is a bare module has no version; its file stands in for it."""
        lock = make_lock(make_session(), definition)
        content = Path(__file__).with_name("conftest.py").read_bytes()
        expected = f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert lock.blocks["acme/shift@v1"].code == expected
        assert lock.distributions == {}

    def test_models_of_inputs(self, make_session: MakeSession, definition: dict[str, Any]) -> None:
        """Models named for an input are held beside its default."""
        lock = make_lock(make_session(), definition, {"model": ["b/1", "b/1"]})
        assert lock.model_inputs == {"model": ["a/1", "b/1"]}
        assert sorted(lock.models) == ["a/1", "b/1"]

    def test_an_input_without_default(
        self, make_session: MakeSession, definition: dict[str, Any]
    ) -> None:
        """It is in the lock, with no model."""
        del definition["inputs"][1]["default_value"]
        lock = make_lock(make_session(), definition)
        assert lock.model_inputs == {"model": []}

    def test_a_model_from_a_step(
        self, make_session: MakeSession, definition: dict[str, Any]
    ) -> None:
        """A model that only a run can know is said to be open."""
        definition["steps"][2]["model_id"] = "$steps.fixed.model_id"
        lock = make_lock(make_session(), definition)
        assert lock.open_models == {"chosen.model_id": "$steps.fixed.model_id"}
        assert lock.model_inputs == {}

    def test_all_missing_models_are_named(
        self, make_session: MakeSession, definition: dict[str, Any]
    ) -> None:
        """Each missing model is named with its users."""
        definition["steps"][1]["model_id"] = "c/1"
        with pytest.raises(WorkflowLockError) as caught:
            make_lock(make_session(), definition, {"model": ["d/9"]})
        text = str(caught.value)
        assert "model 'c/1' (step fixed) cannot be locked: no model \"c/1\"" in text
        assert "model 'd/9' (input model) cannot be locked: no model \"d/9\"" in text

    def test_an_input_that_names_no_model(
        self, make_session: MakeSession, definition: dict[str, Any]
    ) -> None:
        """Models for other inputs are refused."""
        with pytest.raises(WorkflowLockError) as caught:
            make_lock(make_session(), definition, {"image": ["a/1"]})
        assert str(caught.value) == ("No input named image names a model; inputs that do: model.")

    def test_a_broken_workflow(self, make_session: MakeSession, definition: dict[str, Any]) -> None:
        """A workflow that does not compile has no lock; its problems are reported."""
        definition["steps"][0]["amount"] = "much"
        with pytest.raises(WorkflowCompilerError) as caught:
            make_lock(make_session(), definition)
        assert [problem.where for problem in caught.value.errors] == ["/steps/0/amount"]


class TestBlocksThatCannotBeLocked:
    def test_a_manifest_without_schema(self, definition: dict[str, Any], models: Path) -> None:
        """A plug-in whose manifest gives no schema is named."""

        class Manifest(shift_block().get_manifest()):  # type: ignore[misc]
            @classmethod
            def model_json_schema(cls, *arguments: Any, **options: Any) -> dict[str, Any]:
                raise ValueError("no schema for you")

        class Block(shift_block()):  # type: ignore[misc]
            @classmethod
            def get_manifest(cls) -> Any:
                return Manifest

        plugin = Plugin(source="acme", blocks=[Block, name_model_block()])
        settings = WeftlensSettings(model_directories=(models,))
        registry = BlockRegistry([core_plugin(), plugin])
        with (
            Session(settings, registry=registry) as session,
            pytest.raises(WorkflowLockError) as caught,
        ):
            make_lock(session, definition)
        assert str(caught.value) == (
            "The block acme/shift@v1 cannot be locked: its manifest gives no schema: no schema for "
            "you"
        )


class TestDeterminism:
    def test_same_bytes_everywhere(self, tmp_path: Path) -> None:
        """Another folder, working directory, hash seed and path of models give equal bytes."""
        texts = []
        for number, seed in enumerate(("0", "4711")):
            home = tmp_path / f"machine {number}" / ("deep" * number)
            shutil.copytree(
                ROOT / "inference_models" / "shipped" / "parts-seg", home / "m" / "parts-seg"
            )
            shutil.copy(ROOT / "examples" / "find_parts.json", home / "w.json")
            if number:  # other formatting, the same workflow
                data = json.loads((home / "w.json").read_text("utf-8"))
                (home / "w.json").write_text(json.dumps(data, indent=7), "utf-8")
            environment = {
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": str(ROOT),
                "WEFTLENS_MODEL_DIRECTORIES": json.dumps([str(home / "m")]),
            }
            subprocess.run(
                [sys.executable, "-m", "workflows.cli.main", "lock", "w.json"],
                cwd=home, env=environment, check=True, capture_output=True,
            )  # fmt: skip
            texts.append((home / "w.lock.json").read_bytes())
        assert texts[0] == texts[1]

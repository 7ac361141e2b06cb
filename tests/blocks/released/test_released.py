"""Block versions keep their form and their answers.

`records/` holds what each version was when it was recorded (`python -m
tests.blocks.released.record`). A version that is named in a dated section of the change log never
changes any more; what differs needs a new version.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import ConfigDict, Field

from blocks.indexing import find_blocks
from execution_engine import BlockRegistry, discover_registry
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import FLOAT_KIND
from inference_models.manager import ModelManager
from tests.blocks.models.colour_models import write_colour_models
from tests.blocks.released.cases import short_name
from tests.blocks.released.record import missing_records
from tests.blocks.released.records import (
    SECRET,
    form_of,
    read_records,
    run_record,
    runs_a_model,
    spec_of,
    without_prose,
    write_records,
)
from tests.conformance.compare import first_difference

RECORDS = read_records()
CHANGELOG = Path(__file__).resolve().parents[3] / "CHANGELOG.md"
HOW = "run: python -m tests.blocks.released.record"

of_every_record = pytest.mark.parametrize("type_id", RECORDS)


def released_versions(changelog: str) -> set[str]:
    """Names such as `image_blur@v1` in the dated sections of a change log."""
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    dated = [text for text in sections if re.match(r"\[[^\]]+\] - \d{4}-\d\d-\d\d", text)]
    return set(re.findall(r"[\w.-]+@v\d+", " ".join(dated)))


@pytest.fixture(scope="module")
def versions() -> dict[str, type[WorkflowBlock]]:
    """Every block version of this repository by type id."""
    return {spec_of(block).type_id: block for block in find_blocks()}


@pytest.fixture(scope="module")
def registry() -> BlockRegistry:
    """The core blocks."""
    return discover_registry({})


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Constructor arguments of blocks that run models."""
    pytest.importorskip("onnx")
    folder = write_colour_models(tmp_path_factory.mktemp("models"))
    with ModelManager(model_directories=[folder]) as manager:
        yield {"workflows_core.model_manager": manager}


class TestRecords:
    def test_every_version_has_one(self, versions: dict[str, type[WorkflowBlock]]) -> None:
        """Form and outputs of every block version are recorded."""
        lacking = [
            f"{type_id}: no {part}"
            for type_id in versions
            for part in ("form", "expect")
            if part not in RECORDS.get(type_id, {})
        ]
        assert not lacking, "\n".join([*lacking, HOW])

    def test_released_versions_are_there(self) -> None:
        """What a dated section of the change log names exists and is recorded."""
        names = {short_name(type_id) for type_id in RECORDS}
        assert released_versions(CHANGELOG.read_text(encoding="utf-8")) <= names

    @of_every_record
    def test_form(self, type_id: str, versions: dict[str, type[WorkflowBlock]]) -> None:
        """Schema, kinds, defaults, outputs and hooks are those recorded; texts may differ."""
        assert type_id in versions, f"{type_id} was recorded and is gone"
        assert form_of(versions[type_id]) == RECORDS[type_id]["form"]

    @of_every_record
    def test_outputs(
        self,
        type_id: str,
        registry: BlockRegistry,
        request: pytest.FixtureRequest,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The recorded case gives the recorded outputs."""
        record = RECORDS[type_id]
        monkeypatch.setenv(*SECRET)
        case = record["case"]
        parameters = request.getfixturevalue("models") if runs_a_model(case) else {}
        result = run_record(case, registry, parameters)
        difference = first_difference({**case, "expect": record["expect"]}, result)
        assert difference is None, f"{type_id}{difference}"


def toy_block(default: float = 1.0, description: str = "Added to the value.") -> Any:
    """A block version `toy/shift@v1` that adds `amount`, whose default is `default`."""

    class Manifest(WorkflowBlockManifest):
        model_config = ConfigDict(json_schema_extra={"name": "Shift", "block_type": "math"})
        type: Literal["toy/shift@v1"]
        amount: float | Selector(kind=[FLOAT_KIND]) = Field(  # type: ignore[valid-type]
            default=default, description=description
        )

        @classmethod
        def describe_outputs(cls) -> list[OutputDefinition]:
            return [OutputDefinition("sum", [FLOAT_KIND])]

    class Block(WorkflowBlock):
        returns_futures = False

        @classmethod
        def get_manifest(cls) -> type[WorkflowBlockManifest]:
            return Manifest

        def run(self, amount: float) -> BlockResult:
            return {"sum": amount}

    return Block


class TestForm:
    def test_texts_may_change(self) -> None:
        """A better description is the same form."""
        assert form_of(toy_block(description="What is added.")) == form_of(toy_block())

    def test_a_default_may_not(self) -> None:
        """Another default is another form."""
        assert form_of(toy_block(default=2.0)) != form_of(toy_block())

    def test_fields_named_like_texts_stay(self) -> None:
        """A field called `description` is a field."""
        schema = {
            "title": "Step", "properties": {"description": {"type": "string", "title": "D"}},
            "$defs": {"title": {"enum": [1], "examples": [1]}},
        }  # fmt: skip
        assert without_prose(schema) == {
            "properties": {"description": {"type": "string"}}, "$defs": {"title": {"enum": [1]}},
        }  # fmt: skip


class TestRecordedOutputs:
    @pytest.mark.parametrize("type_id", ["image_blur@v1", "detections_merge@v1", "overlap@v1"])
    def test_a_change_is_seen(self, type_id: str, registry: BlockRegistry) -> None:
        """A number that differs, a row that is missing and another picture are differences."""
        record = RECORDS[f"roboflow_core/{type_id}"]
        result = run_record(record["case"], registry, {})
        changed = copy.deepcopy(record["expect"])
        found = changed["sequence"][0][0]["found"]
        if "image" in found:
            found["image"]["$image"]["mean"][0] += 20
        else:
            next(iter(found.values()))["predictions"][0]["x"] += 1
        case = {**record["case"], "expect": record["expect"]}
        assert first_difference(case, result) is None
        assert first_difference({**case, "expect": changed}, result) is not None


class TestMissingRecords:
    def test_what_is_recorded_stays(self, registry: BlockRegistry) -> None:
        """A version that changed keeps its record."""
        known = {"toy/shift@v1": {"form": {}, "case": {}, "expect": {}}}
        assert missing_records([toy_block()], known, registry, {}) == ({}, {})

    def test_a_version_that_does_not_run(self, registry: BlockRegistry) -> None:
        """Its form is recorded, and the reason is given."""
        added, failures = missing_records([toy_block()], {}, registry, {})
        assert added == {"toy/shift@v1": {"form": form_of(toy_block())}}
        assert "toy/shift@v1" in failures["toy/shift@v1"]

    def test_outputs_are_added_to_a_form(self, registry: BlockRegistry) -> None:
        """Of a version with a form alone, the outputs are recorded and the form stays."""
        block = next(block for block in find_blocks() if "image_blur" in block.__module__)
        known = {spec_of(block).type_id: {"form": {"kept": True}}}
        added, failures = missing_records([block], known, registry, {})
        assert failures == {}
        (record,) = added.values()
        assert record["form"] == {"kept": True}
        assert list(record["expect"]) == ["sequence"]


class TestWriteRecords:
    def test_files(self, tmp_path: Path) -> None:
        """One file a family, read back as written; nothing changed means nothing written."""
        records: dict[str, Any] = {
            "a/blur@v1": {"form": {}}, "a/blur@v2": {"form": {"b": 1}}, "a/sort@v1": {"form": {}},
        }  # fmt: skip
        paths = write_records(records, tmp_path)
        assert [path.name for path in paths] == ["blur.json.gz", "sort.json.gz"]
        assert read_records(tmp_path) == records
        before = [path.read_bytes() for path in paths]
        assert write_records(records, tmp_path) == []
        assert [path.read_bytes() for path in paths] == before


class TestReleasedVersions:
    def test_dated_sections_only(self) -> None:
        """Names in the section of unreleased changes are not released yet."""
        text = (
            "# Changelog\n## [Unreleased]\n- `new@v1`\n"
            "## [1.0.0] - 2027-01-31\n- Blocks `old@v1` and `roboflow_core/other@v12`.\n"
        )
        assert released_versions(text) == {"old@v1", "other@v12"}

"""Records block versions that have no record yet; what is recorded is never changed.

    python -m tests.blocks.released.record

A version that was never released may change: delete its family's file in `records/` (or, beside
released versions, its entry in it) and record it again. Model blocks need `onnx`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from blocks.indexing import find_blocks
from execution_engine import BlockRegistry, discover_registry
from execution_engine.block_api.block import WorkflowBlock
from tests.blocks.released.behaviour import main as write_behaviour
from tests.blocks.released.cases import NoCaseError
from tests.blocks.released.records import (
    SECRET,
    Record,
    case_of,
    first_error,
    form_of,
    read_records,
    run_record,
    runs_a_model,
    spec_of,
    write_records,
)


def missing_records(
    blocks: Iterable[type[WorkflowBlock]],
    known: Mapping[str, Record],
    registry: BlockRegistry,
    init_parameters: Mapping[str, Any],
) -> tuple[dict[str, Record], dict[str, str]]:
    """Records of versions that have none or lack the outputs, and why some lack them still.

    Args:
        blocks: the versions.
        known: the records there are; what they hold is kept.
        registry: the blocks to run.
        init_parameters: constructor arguments; without a model manager model blocks are not run.
    """
    added: dict[str, Record] = {}
    failures: dict[str, str] = {}
    for block in blocks:
        type_id = spec_of(block).type_id
        record = dict(known.get(type_id, {}))
        record.setdefault("form", form_of(block))
        if "expect" not in record:
            try:
                case = case_of(block)
                if runs_a_model(case) and "workflows_core.model_manager" not in init_parameters:
                    raise NoCaseError("its model needs onnx: pip install onnx")
                result = run_record(case, registry, init_parameters)
                if (error := first_error(result)) is not None:
                    raise NoCaseError(error)
                record.update(case=case, expect=result)
            except NoCaseError as error:
                failures[type_id] = str(error)
        if record != known.get(type_id):
            added[type_id] = record
    return added, failures


def main() -> int:
    """Adds what is missing and says what it could not add; fails when there is any of that."""
    known = read_records()
    os.environ[SECRET[0]] = SECRET[1]
    with tempfile.TemporaryDirectory() as folder:
        parameters: dict[str, Any] = {}
        if find_spec("onnx") is not None:
            from inference_models.manager import ModelManager
            from tests.blocks.models.colour_models import write_colour_models

            manager = ModelManager(model_directories=[write_colour_models(Path(folder))])
            parameters["workflows_core.model_manager"] = manager
        added, failures = missing_records(find_blocks(), known, discover_registry({}), parameters)
    for path in write_records({**known, **added}):
        sys.stdout.write(f"wrote {path}\n")
    write_behaviour([])
    for type_id in added:
        sys.stdout.write(f"recorded {type_id}\n")
    for type_id, reason in failures.items():
        sys.stderr.write(f"no outputs of {type_id}: {reason}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""Numbers far beyond any picture, in every field of every core block that takes numbers.

A number comes as a literal, by a parameter, or from another step, where no schema has seen it. The
step then works, or says which field expects what and what it got: neither Python nor OpenCV speaks,
and nothing takes long or fills the memory.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from blocks.index import block_schema
from execution_engine.errors import (
    InvalidFieldValueError,
    RuntimeInputError,
    StepExecutionError,
    WorkflowSyntaxError,
)
from execution_engine.value_text import short_text
from inference_models.errors import InvalidParameterError
from tests.blocks.models.colour_models import write_colour_models
from tests.blocks.one_step_workflows import SPECS, OneStep, one_step_workflows
from workflows import Session, WeftlensSettings, run_locally

NUMBER_KINDS = {"integer", "float", "float_zero_to_one"}
SIZES = (2**63, 10**30, 10**400, 1e308, float("inf"))
NUMBERS = (*SIZES, *(-size for size in SIZES), 5e-324, float("nan"))
# No JSON holds it and Python does not write it: a caller in Python may give it.
UNWRITABLE = 10**5000
LONGEST_MESSAGE = 400
MOST_SECONDS = 20
MOST_GROWTH_KB = 300_000

Fill = Callable[[Any], Any]
LINE: Fill = lambda number: [[number, 0], [9, 9]]  # noqa: E731
POLYGON: Fill = lambda number: [[0, 9], [9, number], [9, 0]]  # noqa: E731
COLOUR: Fill = lambda number: (0, number, 0)  # noqa: E731
BY_CLASS: Fill = lambda number: {"a": number}  # noqa: E731
# Fields that hold numbers somewhere inside.
INSIDE: Mapping[tuple[str, str], Fill] = {
    ("csv_formatter@v1", "columns_data"): BY_CLASS,
    ("detections_consensus@v1", "required_objects"): BY_CLASS,
    ("dynamic_crop@v1", "background_color"): COLOUR,
    ("frame_delay@v1", "default_value"): lambda number: number,
    ("line_counter@v1", "line_segment"): LINE,
    ("line_counter@v2", "line_segment"): LINE,
    ("line_counter_visualization@v1", "zone"): LINE,
    ("path_deviation_analytics@v1", "reference_path"): POLYGON,
    ("path_deviation_analytics@v2", "reference_path"): POLYGON,
    ("motion_detection@v1", "detection_zone"): POLYGON,
    ("per_class_confidence_filter@v1", "class_thresholds"): BY_CLASS,
    ("perspective_correction@v1", "perspective_polygons"): lambda number: [
        [[0, 9], [9, 9], [9, 0], [number, 0]]
    ],
    ("pixel_color_count@v1", "target_color"): COLOUR,
    ("polygon_zone_visualization@v1", "zone"): POLYGON,
    ("reference_path_visualization@v1", "reference_path"): POLYGON,
    ("string_template@v1", "data"): lambda number: {"n": number},
    ("text_display@v1", "text_parameters"): lambda number: {"n": number},
    ("time_in_zone@v1", "zone"): POLYGON,
    ("time_in_zone@v2", "zone"): POLYGON,
    ("time_in_zone@v3", "zone"): POLYGON,
}


def fields_of_numbers(type_id: str) -> dict[str, Fill]:
    """The fields of a block that take a number, with what to put a number into."""
    properties = block_schema(type_id)["properties"]
    short = type_id.partition("/")[2]
    found: dict[str, Fill] = {field: fill for (b, field), fill in INSIDE.items() if b == short}
    for name, field in SPECS[type_id].fields.items():
        schema = properties[field.aliases[0]]
        forms = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
        kinds = {kind for reference in field.references for kind in reference.kinds}
        if kinds & NUMBER_KINDS or any(f.get("type") in ("integer", "number") for f in forms):
            found.setdefault(name, lambda number: number)
    return found


def cases_of(workflow: OneStep, field: str, fill: Fill) -> Iterator[tuple[str, OneStep]]:
    """The workflow with every number in a field, on every way on which it can come there."""
    type_id = workflow.definition["steps"][0]["type"]
    referable = any(one.container is None for one in SPECS[type_id].fields[field].references)
    by_parameter, by_step = workflow.with_parameter(field), workflow.with_other_step(field)
    for number in NUMBERS:
        text = short_text(number)
        yield f"literal {text}", workflow.with_literal(field, fill(number))
        if referable:
            yield f"parameter {text}", by_parameter.given(fill(number))
            yield f"step {text}", by_step.given(fill(number))
    if referable:
        yield "parameter 10**5000", by_parameter.given(fill(UNWRITABLE))
        yield "step -10**5000", by_step.given(fill(-UNWRITABLE))


def complaint(field: str, run: Callable[[], Any]) -> str | None:
    """What is wrong with how a run ends; None when it has a result or a clear error."""
    try:
        run()
    except StepExecutionError as error:
        text, clear = str(error), (InvalidFieldValueError, InvalidParameterError)
        if isinstance(error.inner_error, clear) and field in text and "got " in text:
            named = error.block_id == "step"
            return None if named and len(text) < LONGEST_MESSAGE else f"unclear: {text}"
        return f"{error.inner_error_type}: {text}"
    except (RuntimeInputError, WorkflowSyntaxError) as error:
        text = str(error)
        return None if f"'{field}" in text and "tep 'step'" in text else text
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where models are and where sinks write."""
    pytest.importorskip("onnx")
    return write_colour_models(tmp_path_factory.mktemp("extreme"))


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator[Session]:
    """A session that lets every block do its work."""
    settings = WeftlensSettings(
        model_directories=(folder,),
        allow_access_to_file_system=True,
        allowed_write_directory=folder,
        allow_access_to_environmental_variables=True,
    )
    with Session(settings) as made:
        yield made


def run(workflow: OneStep, session: Session, representation: Any = "numpy") -> Any:
    return run_locally(
        workflow.definition, workflow.inputs, session=session, representation=representation
    )


def peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("type_id", SPECS)
class TestEveryBlock:
    def test_usual_numbers(self, type_id: str, folder: Path, session: Session) -> None:
        """The workflows work as they stand, so that an error comes from the number put in."""
        for workflow in one_step_workflows(type_id, folder):
            run(workflow, session)

    def test_extreme_numbers(self, type_id: str, folder: Path, session: Session) -> None:
        """A result, or an error that names the step, the field, what it takes and what it got."""
        started, peak, wrong = time.process_time(), peak_kb(), []
        for workflow in one_step_workflows(type_id, folder):
            for field, fill in fields_of_numbers(type_id).items():
                for name, case in cases_of(workflow, field, fill):
                    found = complaint(field, lambda case=case: run(case, session))
                    if found is not None:
                        wrong.append(f"{field} {name}: {found[:200]}")
        assert wrong == []
        assert time.process_time() - started < MOST_SECONDS
        assert peak_kb() - peak < MOST_GROWTH_KB


@pytest.mark.parametrize("type_id", [t for t, spec in SPECS.items() if spec.siblings])
def test_tensor_siblings(type_id: str, folder: Path, session: Session) -> None:
    """The same on tensors."""
    pytest.importorskip("torch")
    wrong = []
    for workflow in one_step_workflows(type_id, folder):
        for field, fill in fields_of_numbers(type_id).items():
            for name, case in cases_of(workflow, field, fill):
                if name.startswith("literal"):
                    continue  # the schema is the same
                found = complaint(field, lambda case=case: run(case, session, "tensor"))
                if found is not None:
                    wrong.append(f"{field} {name}: {found[:200]}")
    assert wrong == []


def test_blocks_with_numbers() -> None:
    """The walk finds the fields: a schema of another form would empty it."""
    counted = {type_id: len(fields_of_numbers(type_id)) for type_id in SPECS}
    assert counted["roboflow_core/absolute_static_crop@v1"] == 4
    assert counted["roboflow_core/threshold@v1"] == 2
    assert sum(counted.values()) > 200

"""Small workflows of core blocks with results that are known by heart: depth, gates, outputs,
errors, query language.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from execution_engine import BlockRegistry, ExecutionEngine, discover_registry
from execution_engine.errors import (
    ControlFlowDefinitionError,
    DuplicatedNameError,
    ExecutionGraphStructureError,
    InvalidReferenceTargetError,
    NotSupportedExecutionEngineError,
    ReferenceTypeError,
    RuntimeInputError,
    StepInputDimensionalityError,
    StepInputLineageError,
    WorkflowCompilerError,
    WorkflowDefinitionError,
    WorkflowError,
    WorkflowSyntaxError,
)
from tests.execution_engine.toy_blocks import (
    batch_input,
    parameter,
    step,
    toy_registry,
    workflow,
)

IMAGE = {"type": "WorkflowImage", "name": "image"}
CORE = "roboflow_core/"


@pytest.fixture(scope="module")
def registry() -> BlockRegistry:
    """The core blocks, with the toy blocks beside them for generators and markers."""
    return toy_registry(plugins=discover_registry({}).plugins)


def run(
    registry: BlockRegistry, definition: dict[str, Any], inputs: dict[str, Any], **options: Any
) -> list[dict[str, Any]]:
    """Result of one run."""
    with ExecutionEngine.init(definition, registry=registry) as engine:
        return engine.run(inputs, **options)


def picture(height: int, width: int) -> np.ndarray:
    """A black picture."""
    return np.zeros((height, width, 3), np.uint8)


def slicer(name: str, size: int = 150, image: str = "$inputs.image") -> dict[str, Any]:
    """Slices of `size` px without overlap."""
    return step(
        f"{CORE}image_slicer@v1",
        name,
        image=image,
        slice_width=size,
        slice_height=size,
        overlap_ratio_width=0.0,
        overlap_ratio_height=0.0,
    )


def prop(name: str, data: str, *operations: dict[str, Any]) -> dict[str, Any]:
    """A property definition step."""
    return step(f"{CORE}property_definition@v1", name, data=data, operations=list(operations))


WIDTH = {"type": "ExtractImageProperty", "property_name": "width"}


def gate(name: str, value: str, above: float, targets: list[str]) -> dict[str, Any]:
    """Lets through what lies above a number."""
    return step(
        f"{CORE}continue_if@v1",
        name,
        condition_statement={
            "type": "StatementGroup",
            "statements": [
                {
                    "type": "BinaryStatement",
                    "left_operand": {"type": "DynamicOperand", "operand_name": "v"},
                    "comparator": {"type": "(Number) >"},
                    "right_operand": {"type": "StaticOperand", "value": above},
                }
            ],
        },
        evaluation_parameters={"v": value},
        next_steps=targets,
    )


def collapse(name: str, data: str) -> dict[str, Any]:
    """Gathers elements one level up."""
    return step(f"{CORE}dimension_collapse@v1", name, data=data)


def test_slices_of_one_image(registry: BlockRegistry) -> None:
    """A slicer gives one list of slices, each with its place in the image."""
    rows = run(
        registry,
        workflow([IMAGE], [slicer("sl")], {"slices": "$steps.sl.slices"}),
        {"image": picture(300, 200)},
        serialize_results=True,
    )
    (row,) = rows
    places = [
        (item["parent_origin"]["offset_x"], item["parent_origin"]["offset_y"])
        for item in row["slices"]
    ]
    assert places == [(0, 0), (150, 0), (0, 150), (150, 150)]
    assert {item["root_parent_id"] for item in row["slices"]} == {"image"}


def test_inputs_defaults_and_all_outputs(registry: BlockRegistry) -> None:
    """Batch inputs by element, the default of a parameter in every row, `.*` as a list of
    objects.
    """
    rows = run(
        registry,
        workflow(
            [IMAGE, parameter("p", 3)],
            [slicer("sl")],
            {"image": "$inputs.image", "p": "$inputs.p", "all": "$steps.sl.*"},
        ),
        {"image": [picture(150, 200), picture(150, 150)]},
    )
    assert [row["p"] for row in rows] == [3, 3]
    assert [row["image"].parent_metadata.parent_id for row in rows] == ["image.[0]", "image.[1]"]
    assert [len(row["all"]) for row in rows] == [2, 1]
    names = set(registry.specs[f"{CORE}image_slicer@v1"].outputs)
    assert set(rows[0]["all"][0]) == {output.name for output in names}


FALLBACK = {
    "type": f"{CORE}first_non_empty_or_default@v1",
    "name": "f",
    "data": ["$steps.gray.image"],
    "default": "EMPTY",
}
GRAY = step(f"{CORE}convert_grayscale@v1", "gray", image="$inputs.image")


def test_gate_of_the_run(registry: BlockRegistry) -> None:
    """A single closed gate empties every element; the fallback answers."""
    rows = run(
        registry,
        workflow(
            [IMAGE, parameter("p")],
            [gate("c", "$inputs.p", 5, ["$steps.gray"]), GRAY, FALLBACK],
            {"g": "$steps.gray.image", "gw": "$steps.gray.*", "f": "$steps.f.output"},
        ),
        {"image": [picture(4, 4)] * 2, "p": 3},
    )
    assert rows == [{"g": None, "gw": {"image": None}, "f": "EMPTY"}] * 2


def test_gate_of_each_element(registry: BlockRegistry) -> None:
    """A gate on a batch decides element by element."""
    rows = run(
        registry,
        workflow(
            [IMAGE, batch_input("p")],
            [gate("c", "$inputs.p", 5, ["$steps.gray"]), GRAY, FALLBACK],
            {"g": "$steps.gray.image", "f": "$steps.f.output"},
        ),
        {"image": [picture(4, 4)] * 2, "p": [3, 8]},
    )
    assert rows[0] == {"g": None, "f": "EMPTY"}
    assert rows[1]["g"].size == (4, 4)
    assert rows[1]["f"] is rows[1]["g"]


def test_gate_above_slices(registry: BlockRegistry) -> None:
    """Under a closed gate slices are an empty list, and gathering them gives null."""
    rows = run(
        registry,
        workflow(
            [IMAGE, batch_input("p")],
            [
                gate("c", "$inputs.p", 5, ["$steps.sl"]),
                slicer("sl", 200),
                prop("w", "$steps.sl.slices", WIDTH),
                collapse("all", "$steps.w.output"),
            ],
            {"w": "$steps.w.output", "all": "$steps.all.output"},
        ),
        {"image": [picture(100, 300)] * 3, "p": [9, 1, 9]},
    )
    assert [row["w"] for row in rows] == [[200, 100], [], [200, 100]]
    assert [row["all"] for row in rows] == [[200, 100], None, [200, 100]]


def test_gate_of_each_slice(registry: BlockRegistry) -> None:
    """A gate on slices keeps their positions."""
    rows = run(
        registry,
        workflow(
            [IMAGE],
            [
                slicer("sl", 200),
                prop("w", "$steps.sl.slices", WIDTH),
                gate("c", "$steps.w.output", 150, ["$steps.h"]),
                prop("h", "$steps.sl.slices", WIDTH),
            ],
            {"h": "$steps.h.output"},
        ),
        {"image": [picture(100, 300)] * 2},
    )
    assert rows == [{"h": [200, None]}] * 2


def test_collapse_of_widths(registry: BlockRegistry) -> None:
    """Images with different numbers of slices give lists of different lengths."""
    rows = run(
        registry,
        workflow(
            [IMAGE],
            [
                slicer("sl"),
                prop("w", "$steps.sl.slices", WIDTH),
                collapse("all", "$steps.w.output"),
            ],
            {"all": "$steps.all.output"},
        ),
        {"image": [picture(200, 300), picture(100, 300)]},
    )
    assert rows == [{"all": [150] * 4}, {"all": [150] * 2}]


def test_generated_batch(registry: BlockRegistry) -> None:
    """A batch that starts inside the workflow is one list, in every row of another batch."""
    alone = workflow([], [step("generate", "g")], {"v": "$steps.g.out"})
    assert run(registry, alone, {}) == [{"v": [0, 1, 2]}]
    beside = workflow(
        [batch_input("q")], [step("generate", "g")], {"q": "$inputs.q", "v": "$steps.g.out"}
    )
    assert run(registry, beside, {"q": ["a", "b"]}) == [
        {"q": "a", "v": [0, 1, 2]},
        {"q": "b", "v": [0, 1, 2]},
    ]


def test_null_element(registry: BlockRegistry) -> None:
    """A null element is not given to a block."""
    definition = workflow(
        [batch_input("q")], [prop("z", "$inputs.q", {"type": "ToString"})], {"z": "$steps.z.output"}
    )
    assert run(registry, definition, {"q": ["a", None]}) == [{"z": "a"}, {"z": None}]


def test_coordinates_of_the_input_and_of_a_crop(registry: BlockRegistry) -> None:
    """`parent` gives positions on the input image and no origins, `own` those on the crop with its
    origins.
    """
    rng = np.random.default_rng(0)
    template = rng.integers(0, 255, (20, 30, 3), dtype=np.uint8)
    image = np.full((100, 200, 3), 90, np.uint8)
    image[20:40, 30:60] = template
    rows = run(
        registry,
        workflow(
            [IMAGE, {"type": "WorkflowImage", "name": "template"}],
            [
                step(
                    f"{CORE}absolute_static_crop@v1",
                    "crop",
                    image="$inputs.image",
                    x_center=60,
                    y_center=50,
                    width=100,
                    height=80,
                ),
                step(
                    f"{CORE}template_matching@v1",
                    "match",
                    image="$steps.crop.crops",
                    template="$inputs.template",
                    matching_threshold=0.95,
                ),
            ],
            [
                {"type": "JsonField", "name": "parent", "selector": "$steps.match.predictions"},
                {
                    "type": "JsonField",
                    "name": "own",
                    "selector": "$steps.match.predictions",
                    "coordinates_system": "own",
                },
            ],
        ),
        {"image": image, "template": template},
        serialize_results=True,
    )
    parent, own = rows[0]["parent"], rows[0]["own"]
    (found,) = parent["predictions"]
    assert (found["x"], found["y"]) == (45, 30)
    assert parent["image"] == {"width": 200, "height": 100}
    assert found["parent_id"] == "image"
    assert not {"parent_origin", "root_parent_id", "root_parent_origin"} & set(found)
    (found,) = own["predictions"]
    assert (found["x"], found["y"]) == (35, 20)
    assert own["image"] == {"width": 100, "height": 80}
    assert found["parent_origin"] == {"offset_x": 10, "offset_y": 10, "width": 200, "height": 100}
    assert found["root_parent_origin"] == found["parent_origin"]


def test_secret_parameter(registry: BlockRegistry) -> None:
    """A secret is masked in a serialised response."""
    definition = workflow([parameter("s", kind=["secret"])], [], {"s": "$inputs.s"})
    rows = run(registry, definition, {"s": "supersecretvalue"}, serialize_results=True)
    assert rows == [{"s": "su********ue"}]


def test_custom_python(registry: BlockRegistry) -> None:
    """A block that comes with the definition runs, and its error says where in the code it was."""
    from tests.conformance.runner import serves_custom_python

    if not serves_custom_python(registry):
        pytest.skip("custom Python blocks are not in this build")
    manifest = {
        "type": "ManifestDescription",
        "block_type": "Inverse",
        "inputs": {"a": {"type": "DynamicInputDefinition", "selector_types": ["input_parameter"]}},
        "outputs": {"out": {"type": "DynamicOutputDefinition", "kind": []}},
    }
    code = {
        "type": "PythonCode",
        "run_function_code": "def run(self, a):\n    return {'out': 1 / a}",
    }
    definition = workflow(
        [parameter("a")],
        [{"type": "Inverse", "name": "i", "a": "$inputs.a"}],
        {"out": "$steps.i.out"},
        dynamic_blocks_definitions=[
            {"type": "DynamicBlockDefinition", "manifest": manifest, "code": code}
        ],
    )
    permissions = {"workflows_core.allow_custom_python": True}
    with ExecutionEngine.init(definition, permissions, registry=registry) as engine:
        assert engine.run({"a": 4}) == [{"out": 0.25}]
        with pytest.raises(WorkflowError) as caught:
            engine.run({"a": 0})
    assert str(caught.value) == "Error in line 2, in run: ZeroDivisionError: division by zero"
    assert caught.value.context == "dynamic_block_code_execution"


def test_no_outputs(registry: BlockRegistry) -> None:
    """A workflow without outputs answers with one empty object."""
    assert run(registry, workflow([IMAGE]), {"image": picture(2, 2)}) == [{}]


BLUR = f"{CORE}image_blur@v1"
FAULTY = [
    (WorkflowSyntaxError, workflow([], [step(f"{CORE}no_such@v1", "a")]), "a", None),
    (WorkflowSyntaxError, workflow([IMAGE], [step(BLUR, "a")]), "a", "image"),
    (
        InvalidReferenceTargetError,
        workflow([IMAGE], [step(BLUR, "a", image="$inputs.no")]),
        "a",
        "image",
    ),
    (
        InvalidReferenceTargetError,
        workflow([IMAGE], [step(BLUR, "a", image="$steps.no.image")]),
        "a",
        "image",
    ),
    (
        ExecutionGraphStructureError,
        workflow([IMAGE], [GRAY, step(BLUR, "a", image="$steps.gray.no")]),
        "a",
        "image",
    ),
    (
        InvalidReferenceTargetError,
        workflow([IMAGE], [GRAY], {"o": "$steps.gray.no"}),
        "$outputs",
        "o",
    ),
    (
        ReferenceTypeError,
        workflow([parameter("p", kind=["string"])], [step(BLUR, "a", image="$inputs.p")]),
        "a",
        "image",
    ),
    (
        ExecutionGraphStructureError,
        workflow(
            [],
            [step(BLUR, "a", image="$steps.b.image"), step(BLUR, "b", image="$steps.a.image")],
        ),
        "a",
        None,
    ),
    (DuplicatedNameError, workflow([IMAGE], [GRAY, GRAY]), "gray", None),
    (
        StepInputDimensionalityError,
        workflow(
            [IMAGE],
            [
                slicer("sl"),
                step(
                    f"{CORE}first_non_empty_or_default@v1",
                    "f",
                    data=["$inputs.image", "$steps.sl.slices"],
                ),
            ],
        ),
        "f",
        "data",
    ),
    (
        StepInputLineageError,
        workflow(
            [IMAGE],
            [
                slicer("a"),
                slicer("b"),
                step(
                    f"{CORE}first_non_empty_or_default@v1",
                    "f",
                    data=["$steps.a.slices", "$steps.b.slices"],
                ),
            ],
        ),
        "f",
        "data",
    ),
    (
        ControlFlowDefinitionError,
        workflow(
            [IMAGE],
            [
                slicer("sl"),
                prop("w", "$steps.sl.slices", WIDTH),
                gate("c", "$steps.w.output", 1, ["$steps.gray"]),
                GRAY,
            ],
        ),
        "gray",
        None,
    ),
]


@pytest.mark.parametrize(("error", "definition", "block_id", "property_name"), FAULTY)
def test_faulty_definitions(
    registry: BlockRegistry,
    error: type[WorkflowError],
    definition: Any,
    block_id: str,
    property_name: Any,
) -> None:
    """Each fault raises its class and names the step and, where there is one, the field."""
    with pytest.raises(WorkflowCompilerError) as caught:
        ExecutionEngine.init(definition, registry=registry)
    assert type(caught.value) is error
    (entry,) = caught.value.blocks_errors
    assert (entry.block_id, entry.property_name) == (block_id, property_name)


@pytest.mark.parametrize(
    ("version", "error"),
    [
        ("2.0", NotSupportedExecutionEngineError),
        ("1.99", NotSupportedExecutionEngineError),
        ("abc", WorkflowDefinitionError),
    ],
)
def test_versions(registry: BlockRegistry, version: str, error: type[WorkflowError]) -> None:
    """A version that is not served and one that is none are different errors."""
    with pytest.raises(error):
        ExecutionEngine.init(workflow(version=version), registry=registry)


@pytest.mark.parametrize(
    "inputs",
    [
        {"image": [picture(2, 2)] * 2, "q": [1, 2, 3]},
        {"q": 1},
        {"image": {"type": "url", "value": "https://example.com/a.jpg"}, "q": 1},
        {"image": {"type": "base64", "value": "%%%"}, "q": 1},
    ],
    ids=["sizes", "missing", "url", "base64"],
)
def test_inputs_that_do_not_fit(registry: BlockRegistry, inputs: dict[str, Any]) -> None:
    """What the caller gives wrongly is one class of error."""
    with pytest.raises(RuntimeInputError):
        run(registry, workflow([IMAGE, batch_input("q")], [], {"q": "$inputs.q"}), inputs)


def test_centre_of_a_box(registry: BlockRegistry) -> None:
    """Anchors are whole pixels, halves rounded to even."""
    definition = workflow(
        [batch_input("d", kind=["object_detection_prediction"])],
        [
            prop(
                "c",
                "$inputs.d",
                {"type": "DetectionsPropertyExtract", "property_name": "center"},
            )
        ],
        {"c": "$steps.c.output"},
    )
    row = {"x": 12.5, "y": 15, "width": 15, "height": 20, "confidence": 1, "class": "a",
           "class_id": 0, "detection_id": "d", "parent_id": "image"}  # fmt: skip
    detections = {"image": {"width": 40, "height": 40}, "predictions": [row]}
    rows = run(registry, definition, {"d": [detections]}, serialize_results=True)
    assert rows == [{"c": [[12, 15]]}]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("top_class", ["A", "B"]),
        ("top_class_confidence", [0.7, 0.6]),
        ("top_class_confidence_single", 0.7),
        ("all_classes", ["A", "B"]),
    ],
)
def test_multi_label_classification(registry: BlockRegistry, name: str, expected: Any) -> None:
    """Properties of a multi-label classification are lists, the single confidence the highest."""
    value = {
        "image": {"width": 4, "height": 4},
        "predictions": {
            "A": {"confidence": 0.7, "class_id": 0},
            "B": {"confidence": 0.6, "class_id": 1},
        },
        "predicted_classes": ["A", "B"],
    }
    definition = workflow(
        [batch_input("c", kind=["classification_prediction"])],
        [prop("p", "$inputs.c", {"type": "ClassificationPropertyExtract", "property_name": name})],
        {"p": "$steps.p.output"},
    )
    assert run(registry, definition, {"c": [value]}) == [{"p": expected}]

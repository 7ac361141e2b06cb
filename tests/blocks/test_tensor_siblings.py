"""Each block and its tensor sibling give the same JSON.

The pairs are those of the index. A pair is run in both representations on the inputs that its entry
in `CASES` makes; a sibling without an entry fails.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import supervision as sv

from blocks.index import block_specs
from blocks.indexing import find_blocks, find_siblings
from execution_engine.block_api import WorkflowImageData
from execution_engine.kinds.representation import NUMPY, TENSOR
from tests.blocks.detection_sets import (
    MASK_FORMS,
    WITH_MASKS,
    MaskForm,
    a_crop,
    an_image,
    ellipses,
    some,
)
from tests.blocks.models import colour_models as models
from workflows import Session, WeftlensSettings, run_locally

pytest.importorskip("torch")

SPECS = block_specs()
PAIRS = sorted(type_id for type_id, spec in SPECS.items() if TENSOR in spec.siblings)
SIZES = ((60, 91), (33, 47), (7, 5), (1, 1), (1, 40))
ROWS = (0, 1, 9)
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r'"frame_timestamp": "[^"]*"')


class Case(NamedTuple):
    """One step: its literals, and what its references are given."""

    name: str
    literals: Mapping[str, Any]
    inputs: Mapping[str, Any]


Cases = Callable[[], Iterator[Case]]


def images(
    field: str = "image", sizes: tuple[tuple[int, int], ...] = SIZES, **literals: Any
) -> Iterator[Case]:
    """Images of all sizes, in colour and gray."""
    for size, channels in itertools.product(sizes, (1, 3)):
        yield Case(f"{size}-{channels}", literals, {field: an_image(size, channels=channels)})


def boxes(count: int, size: tuple[int, int], seed: int = 3) -> np.ndarray:
    """(count, 4) xyxy px inside the image and over its border, of all sizes, not whole."""
    rng = np.random.default_rng(seed)
    height, width = size
    corners = rng.uniform(-0.2, 1.2, (count, 2, 2)) * [width, height]
    return np.sort(corners, axis=1).reshape(count, 4).astype(np.float32)


def detections(
    count: int, image: WorkflowImageData, form: MaskForm = "none", seed: int = 3
) -> sv.Detections:
    """Rows of three classes on an image."""
    names = [("cat", "dog", "cow")[row % 3] for row in range(count)]
    scores = np.random.default_rng(seed).uniform(0.05, 1, count).astype(np.float32)
    ids = [f"d{seed}-{row}" for row in range(count)]
    corners = boxes(count, image.size, seed)
    masks = ellipses(count, *image.size, seed)
    return some(corners, image, names, scores.tolist(), ids, masks, form)


def as_json(made: sv.Detections) -> dict[str, Any]:
    """Detections as a caller sends them: scores in double precision."""
    from blocks.kinds.detections.serialise import serialise_detections

    written = serialise_detections(made)
    for row, value in zip(written["predictions"], (0.1, 0.7, 0.9) * 9, strict=False):
        row["confidence"] = value
    return written


def bare(count: int) -> sv.Detections:
    """Boxes that know nothing else: no score, no class, no image."""
    return sv.Detections(xyxy=boxes(count, (50, 50)).astype(np.float64))


def predictions(
    field: str = "predictions",
    image_field: str | None = None,
    forms: tuple[MaskForm, ...] = MASK_FORMS,
    **literals: Any,
) -> Iterator[Case]:
    """Detections of all counts and forms of masks, on images of all sizes."""
    for (size, channels), count, form in itertools.product(
        (((60, 91), 3), ((33, 47), 1), ((1, 1), 3)), ROWS, forms
    ):
        image = an_image(size, channels=channels)
        beside = {} if image_field is None else {image_field: image}
        given = {**beside, field: detections(count, image, form)}
        yield Case(f"{size}-{channels}-{count}-{form}", literals, given)
    if image_field is None:
        image = an_image()
        for count in ROWS:
            yield Case(f"json-{count}", literals, {field: as_json(detections(count, image))})
            yield Case(f"bare-{count}", literals, {field: bare(count)})


def with_points(image: WorkflowImageData, count: int = 4) -> sv.Detections:
    """Rows with two keypoints each, of which the second may be padding."""
    made = detections(count, image)
    made.data["keypoints_xy"] = np.tile(made.xyxy[:, None, :2], (1, 2, 1))
    made.data["keypoints_class_id"] = np.tile(np.arange(2), (count, 1))
    made.data["keypoints_class_name"] = np.array([["nose", ""], ["nose", "ear"]] * 2)[:count]
    made.data["keypoints_confidence"] = np.full((count, 2), 0.3)
    return made


def statement(name: str, comparator: str, value: Any) -> dict[str, Any]:
    """A condition on a property of each row."""
    return {
        "type": "BinaryStatement",
        "left_operand": {
            "type": "DynamicOperand",
            "operations": [{"type": "ExtractDetectionProperty", "property_name": name}],
        },
        "comparator": {"type": comparator},
        "right_operand": {"type": "StaticOperand", "value": value},
    }


def operations() -> Iterator[Case]:
    chains: dict[str, list[dict[str, Any]]] = {
        "confidence": [filtered(statement("confidence", "(Number) >=", 0.7))],
        "class": [filtered(statement("class_name", "in (Sequence)", ["cat", "cow"]))],
        "nothing": [filtered(statement("size", "(Number) <", -1))],
        "sorted": [{"type": "SortDetections", "mode": "confidence", "ascending": True}],
        "offset": [{"type": "DetectionsOffset", "offset_x": 7, "offset_y": 4}],
        "first": [{"type": "DetectionsSelection", "mode": "top_confidence"}],
        "renamed": [
            {
                "type": "DetectionsRename",
                "class_map": {"cat": "feline"},
                "strict": False,
            }
        ],
    }
    for name, chain in chains.items():
        for case in predictions(operations=chain, forms=("none", "both")):
            # Boxes without score or class have no such property, in either representation.
            if not case.name.startswith("bare"):
                yield case._replace(name=f"{name}-{case.name}")
        given = {"predictions": with_points(an_image())}
        yield Case(f"{name}-points", {"operations": chain}, given)


def filtered(*statements: Any) -> dict[str, Any]:
    """The operation that keeps rows."""
    group = {"type": "StatementGroup", "statements": list(statements)}
    return {"type": "DetectionsFilter", "filter_operation": group}


def named(name: str, cases: Iterator[Case]) -> Iterator[Case]:
    """The cases under a longer name."""
    return (case._replace(name=f"{name}-{case.name}") for case in cases)


def offset() -> Iterator[Case]:
    for units, width, height in (("Pixels", 11, -7), ("Percent (%)", 13, 250)):
        fields = {"offset_width": width, "offset_height": height, "units": units}
        # Boxes without ids get them at random when they are read: they are left out.
        yield from named(units, predictions(**fields))
    given = {"predictions": with_points(an_image())}
    yield Case("points", {"offset_width": 4, "offset_height": 4}, given)


def merge() -> Iterator[Case]:
    yield from predictions()
    yield Case("points", {}, {"predictions": with_points(an_image())})


def crops() -> Iterator[Case]:
    for opacity, forms in ((0.0, MASK_FORMS), (0.35, WITH_MASKS[2:]), (1.0, WITH_MASKS[:1])):
        fields = {"mask_opacity": opacity, "background_color": "#2040f0"}
        cases = predictions(image_field="images", forms=forms, **fields)
        yield from named(f"{opacity}", cases)
    image = an_image()
    yield Case("points", {}, {"images": image, "predictions": with_points(image)})


def static_crops(**literals: Any) -> Cases:
    return lambda: images("images", **literals)


def slices() -> Iterator[Case]:
    yield from images(slice_width=20, slice_height=13, overlap_ratio_width=0.3)
    yield from named("one", images())


def stitch() -> Iterator[Case]:
    image = an_image((60, 90))
    places = ((0, 0, 50, 40), (30, 0, 90, 40), (0, 20, 50, 60), (30, 20, 90, 60))
    for form, count, strategy in itertools.product(
        ("none", "compact", "rle", "both"), ROWS, ("none", "nms", "nmm")
    ):
        children = [
            detections(count, a_crop(image, place, f"c{index}"), form, seed=index)
            for index, place in enumerate(places)
        ]
        yield Case(
            f"{form}-{count}-{strategy}",
            {"overlap_filtering_strategy": strategy},
            {"reference_image": image, "predictions": [children]},
        )


def blur() -> Iterator[Case]:
    for kind in ("average", "gaussian", "median", "bilateral"):
        yield from named(kind, images(blur_type=kind, kernel_size=5))


def threshold() -> Iterator[Case]:
    kinds = "binary binary_inv trunc tozero tozero_inv adaptive_mean adaptive_gaussian otsu"
    for kind, level in itertools.product(kinds.split(), (-300, 0, 90, 255, 999)):
        sizes = SIZES if level == 90 else SIZES[1:2]
        fields = {"threshold_type": kind, "thresh_value": level, "max_value": 201}
        yield from named(f"{kind}-{level}", images(sizes=sizes, **fields))


def preprocessing() -> Iterator[Case]:
    for width, height in ((20, 11), (100, 130), (5, 90)):
        yield from named(f"resize-{width}", images(task_type="resize", width=width, height=height))
    for degrees in (0, 90, -33):
        yield from named(f"rotate-{degrees}", images(task_type="rotate", rotation_degrees=degrees))
    for kind in ("vertical", "horizontal", "both"):
        yield from named(kind, images(task_type="flip", flip_type=kind))


def morphology(*kinds: str) -> Cases:
    def cases() -> Iterator[Case]:
        for kind, size in itertools.product(kinds, (3, 4)):
            fields = {"operation": kind, "kernel_size": size}
            yield from named(f"{kind}-{size}", images(sizes=SIZES[2:4], **fields))

    return cases


def drawing(forms: tuple[MaskForm, ...], **literals: Any) -> Cases:
    def cases() -> Iterator[Case]:
        yield from predictions(image_field="image", forms=forms)
        yield from named(
            "other",
            predictions(image_field="image", forms=forms, color_axis="INDEX", **literals),
        )

    return cases


def model(model_id: str, *, gray: bool = True, **literals: Any) -> Cases:
    def cases() -> Iterator[Case]:
        scenes = {
            "many": models.three_rectangles(),
            "odd": models.three_rectangles((91, 133)),
            "one": models.rectangles((75, 64), red=(6, 4, 40, 50)),
            "empty": models.nothing(),
            "batch": [models.three_rectangles(), models.nothing((41, 63))],
        }
        if gray:
            scenes["gray"] = models.three_rectangles()[:, :, 2]
        for name, scene in scenes.items():
            yield Case(name, {"model_id": model_id, **literals}, {"images": scene})

    return cases


def versions(family: str, cases: Cases, count: int) -> dict[str, Cases]:
    """The same cases for every version of a block."""
    return {f"roboflow_core/{family}@v{number}": cases for number in range(1, count + 1)}


OPERATIONS = ("Erosion", "Dilation", "Opening", "Closing", "Gradient", "Top Hat", "Black Hat")
CASES: dict[str, Cases] = {
    **versions("roboflow_object_detection_model", model(models.DETECTOR), 3),
    **versions("roboflow_instance_segmentation_model", model(models.SEGMENTER), 4),
    "roboflow_core/roboflow_instance_segmentation_model@v5": lambda: (
        case
        for mode, factor in (("accurate", 0.0), ("fast", 0.0), ("tradeoff", 0.4))
        for case in named(
            mode,
            model(models.SEGMENTER, mask_decode_mode=mode, tradeoff_factor=factor)(),
        )
    ),
    **versions("roboflow_semantic_segmentation_model", model(models.CLASS_MAP), 2),
    **versions("roboflow_keypoint_detection_model", model(models.POINTS), 3),
    **versions("roboflow_classification_model", model(models.CLASSIFIER), 3),
    **versions("roboflow_multi_label_classification_model", model(models.LABELLER), 3),
    "roboflow_core/dynamic_crop@v1": crops,
    "roboflow_core/absolute_static_crop@v1": static_crops(
        x_center=20, y_center=9, width=31, height=12
    ),
    "roboflow_core/relative_statoic_crop@v1": static_crops(
        x_center=0.5, y_center=0.4, width=0.61, height=0.77
    ),
    "roboflow_core/detections_filter@v1": operations,
    "roboflow_core/detections_transformation@v1": operations,
    "roboflow_core/detection_offset@v1": offset,
    "roboflow_core/detections_merge@v1": merge,
    "roboflow_core/detections_stitch@v1": stitch,
    **versions("image_slicer", slices, 2),
    "roboflow_core/image_blur@v1": blur,
    "roboflow_core/convert_grayscale@v1": images,
    "roboflow_core/threshold@v1": threshold,
    "roboflow_core/image_preprocessing@v1": preprocessing,
    "roboflow_core/morphological_transformation@v1": morphology(*OPERATIONS),
    "roboflow_core/morphological_transformation@v2": morphology(
        *OPERATIONS, "Opening then Closing"
    ),
    "roboflow_core/bounding_box_visualization@v1": drawing(MASK_FORMS, roundness=0.5),
    "roboflow_core/mask_visualization@v1": drawing(WITH_MASKS, opacity=0.8),
}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny pictures are not worth the threads of torch, which wait for each other."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session over the networks of coloured rectangles."""
    pytest.importorskip("onnx")
    folder: Path = models.write_colour_models(tmp_path_factory.mktemp("models"))
    with Session(WeftlensSettings(model_directories=(folder,))) as made:
        yield made


def definition(type_id: str, case: Case) -> dict[str, Any]:
    """A workflow of one step, whose references are inputs of the kinds that the block takes."""
    spec = SPECS[type_id]
    declared = []
    for name in case.inputs:
        kinds = sorted({kind for form in spec.fields[name].references for kind in form.kinds})
        if kinds == ["image"]:
            declared.append({"type": "WorkflowImage", "name": name})
            continue
        depth = 1 + spec.input_offsets.get(name, 0)
        declared.append(
            {"type": "WorkflowBatchInput", "name": name, "kind": kinds, "dimensionality": depth}
        )
    references = {name: f"$inputs.{name}" for name in case.inputs}
    step = {"type": type_id, "name": "step", **case.literals, **references}
    outputs = [
        {
            "type": "JsonField",
            "name": f"{output.name}-{system}",
            "selector": f"$steps.step.{output.name}",
            "coordinates_system": system,
        }
        for output in spec.outputs
        for system in ("own", "parent")
    ]
    return {"version": "1.0", "inputs": declared, "steps": [step], "outputs": outputs}


def text_of(result: Any) -> str:
    """The JSON text with random ids numbered in order and times left out."""
    text = TIME.sub("", json.dumps(result))
    numbers: dict[str, str] = {}
    return UUID.sub(lambda found: numbers.setdefault(found[0], f"id{len(numbers)}"), text)


def pixels_of(value: Any) -> list[Any]:
    """The pixels of every image in a result: equal JPEGs need not come from equal pixels."""
    if isinstance(value, WorkflowImageData):
        return [value.numpy_image.shape, value.numpy_image.tobytes()]
    if isinstance(value, dict):
        value = list(value.values())
    return [pixels_of(item) for item in value] if isinstance(value, list) else []


def outcome(type_id: str, case: Case, session: Session, representation: Any) -> str:
    """JSON text of a run, or the text of its error."""
    try:
        result = run_locally(
            definition(type_id, case),
            case.inputs,
            session=session,
            serialize=True,
            representation=representation,
        )
    except Exception as error:
        return f"{type(error).__name__}: {UUID.sub('id', str(error))}"
    return text_of(result)


def test_every_pair_has_cases() -> None:
    """A sibling without inputs to run it on is not tested, and an entry without sibling is old."""
    assert sorted(CASES) == PAIRS
    assert len(PAIRS) > 30


@pytest.mark.parametrize("type_id", PAIRS)
def test_manifest_is_shared(type_id: str, session: Session) -> None:
    """Both classes give the same manifest object, and the plan takes the sibling."""
    loaded = session.registry.load(type_id)
    sibling = session.registry.load_sibling(type_id, TENSOR)
    assert sibling is not None
    assert sibling.get_manifest() is loaded.block.get_manifest()
    assert (loaded.block.representation, sibling.representation) == (NUMPY, TENSOR)
    case = next(CASES[type_id]())
    plan = session.compile(definition(type_id, case), representation="tensor")
    assert plan.steps[0].block is sibling


@pytest.mark.parametrize("type_id", PAIRS)
def test_same_json(type_id: str, session: Session) -> None:
    """Every case gives the same JSON text in both representations, or the same error."""
    worked = 0
    for case in CASES[type_id]():
        expected = outcome(type_id, case, session, "numpy")
        assert outcome(type_id, case, session, "tensor") == expected, case.name
        worked += expected.startswith("[")
        if any("image" in output.kinds for output in SPECS[type_id].outputs):
            run = partial(run_locally, definition(type_id, case), case.inputs, session=session)
            assert pixels_of(run(representation="tensor")) == pixels_of(run()), case.name
    assert worked >= 5, expected


def test_siblings_lie_beside_their_blocks() -> None:
    """Every class that works on tensors is the sibling of a block, and the index names it."""
    found = {
        block.get_manifest().model_fields["type"].annotation.__args__[0]: siblings
        for block in find_blocks()
        if (siblings := find_siblings(block))
    }
    assert sorted(found) == PAIRS

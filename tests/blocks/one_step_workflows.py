"""Workflows of one step for every core block, with inputs on which it works. Tests nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import supervision as sv

from blocks.index import block_specs
from execution_engine.block_api import VideoMetadata, WorkflowImageData
from execution_engine.block_api.spec import BlockSpec, FieldSpec
from tests.blocks.detection_sets import a_crop, an_image, some
from tests.blocks.models import colour_models as models

SPECS = block_specs()
TARGET = "then"
"""The step that flow control blocks lead to."""
PASSING = {"type": "roboflow_core/first_non_empty_or_default@v1"}
"""A step that gives what it gets, under a kind that fits every field."""
GIVEN = "$inputs.given"

SQUARE = [[5, 5], [40, 8], [44, 50], [4, 41]]
BOXES = [[5, 5, 25, 30], [6, 6, 26, 31], [40, 20, 80, 55]]
COUNTED = {
    "type": "StatementGroup",
    "statements": [
        {
            "type": "BinaryStatement",
            "left_operand": {"type": "StaticOperand", "value": 1},
            "comparator": {"type": "(Number) =="},
            "right_operand": {"type": "StaticOperand", "value": 1},
        }
    ],
}


def a_video_image() -> WorkflowImageData:
    """An image of 60 x 90 px."""
    return an_image((60, 90))


def tracked() -> sv.Detections:
    """Three rows with everything that rows can have."""
    rows = some(
        BOXES,
        a_video_image(),
        names=["a", "a", "b"],
        form="both",
        keypoints_xy=np.ones((3, 2, 2), np.float32) * 9,
        keypoints_confidence=np.ones((3, 2)),
        keypoints_class_id=np.ones((3, 2), np.int64),
        keypoints_class_name=np.full((3, 2), "nose"),
    )
    rows.tracker_id = np.array([1, 2, 3])
    return rows


def pieces() -> list[sv.Detections]:
    """Detections on two parts of an image."""
    image = a_video_image()
    places = ((0, 0, 50, 60), (30, 0, 90, 60))
    return [
        some([[3, 3, 20, 25]], a_crop(image, place, f"c{number}"), form="both")
        for number, place in enumerate(places)
    ]


def classified() -> dict[str, Any]:
    """What a classification model says."""
    return {
        "image": {"width": 90, "height": 60},
        "predictions": [{"class": "a", "class_id": 0, "confidence": 0.75}],
        "top": "a",
        "confidence": 0.75,
        "prediction_type": "classification",
        "inference_id": "i",
        "parent_id": "p",
        "root_parent_id": "p",
    }


def a_contour() -> list[np.ndarray]:
    """One square."""
    return [np.array(SQUARE, np.int32).reshape(-1, 1, 2)]


# What an input of a kind is given. The first kind of a field that is here counts.
BY_KIND: dict[str, Callable[[], Any]] = {
    "image": a_video_image,
    "object_detection_prediction": tracked,
    "instance_segmentation_prediction": tracked,
    "keypoint_detection_prediction": tracked,
    "classification_prediction": classified,
    "numpy_array": lambda: np.linspace(0, 1, 60 * 90, dtype=np.float32).reshape(60, 90),
    "video_metadata": lambda: VideoMetadata(video_identifier="v", frame_number=1, fps=30),
    "contours": a_contour,
    "embedding": lambda: [1.0, 2.0],
    "string": lambda: "text",
    "language_model_output": lambda: '{"a": 1}',
    "*": lambda: 5,
}
# What inputs are given whose kind does not say it.
BY_FIELD: dict[tuple[str, str], Callable[[], Any]] = {
    ("roboflow_core/detections_classes_replacement@v1", "classification_predictions"): lambda: [
        classified() for _ in BOXES
    ],
    ("roboflow_core/detections_list_rollup@v1", "child_detections"): lambda: [
        tracked() for _ in BOXES
    ],
    ("roboflow_core/detections_stitch@v1", "predictions"): pieces,
    ("roboflow_core/property_definition@v1", "data"): tracked,
    **{
        (f"roboflow_core/{block}@{version}", "vlm_output"): lambda text=text: text
        for block, text in (
            ("vlm_as_classifier", '{"class_name": "a", "confidence": 0.7}'),
            ("vlm_as_detector", '[{"box_2d": [100, 200, 500, 600], "label": "a"}]'),
        )
        for version in ("v1", "v2")
    },
    ("roboflow_core/template_matching@v1", "template"): lambda: an_image((9, 9)),
    ("weftlens/contour_measurement@v1", "contours"): a_contour,
}
# Literals of required fields; a block may be run in several ways.
LITERALS: dict[str, list[dict[str, Any]]] = {
    "absolute_static_crop@v1": [{"x_center": 20, "y_center": 20, "width": 9, "height": 9}],
    "anomaly_heatmap_visualization@v1": [{"anomaly_threshold": 0.5}],
    "buffer@v1": [{"length": 3, "pad": pad} for pad in (False, True)],
    "cache_get@v1": [{"key": "k"}],
    "cache_set@v1": [{"key": "k"}],
    "camera-calibration@v1": [
        {"fx": 90.0, "fy": 90.0, "cx": 45.0, "cy": 30.0, "k1": 0.1, "k2": 0.01, "k3": 0.0,
         "p1": 0.001, "p2": 0.0, "use_fisheye_model": fisheye}
        for fisheye in (False, True)
    ],
    "contours_detection@v1": [{}],
    "continue_if@v1": [{"condition_statement": COUNTED}],
    "csv_formatter@v1": [{"columns_data": {"n": 1}}],
    "data_aggregator@v1": [
        {"aggregation_mode": {"n": ["sum", "distinct"]}, "interval_unit": unit, "interval": 1}
        for unit in ("runs", "seconds")
    ],
    "detection_offset@v1": [
        {"offset_width": 4, "offset_height": 4, "units": units}
        for units in ("Pixels", "Percent (%)")
    ],
    "detections_consensus@v1": [{"required_votes": 1}],
    "detections_filter@v1": [{"operations": []}],
    "detections_stitch@v1": [
        {"overlap_filtering_strategy": strategy} for strategy in ("nms", "nmm")
    ],
    "detections_transformation@v1": [{"operations": []}],
    "distance_measurement@v1": [
        {
            "object_1_class_name": "a",
            "object_2_class_name": "b",
            "reference_axis": axis,
            "calibration_method": method,
            "reference_object_class_name": "b",
        }
        for axis in ("horizontal", "vertical")
        for method in ("reference object", "pixel to centimeter")
    ],
    "dynamic_crop@v1": [{"mask_opacity": 0.5}],
    "dynamic_zone@v1": [{"required_number_of_vertices": 4}],
    "environment_secrets_store@v1": [{"variables_storing_secrets": ["PATH"]}],
    "expression@v1": [
        {"switch": {"type": "CasesDefinition", "cases": [],
                    "default": {"type": "StaticCaseResult", "value": 1}}}
    ],
    "frame_delay@v1": [{"offset": -1}],
    "geotag_detection@v1": [{"latitude": 47.4, "longitude": -105.2, "altitude": 70}],
    "heatmap_visualization@v1": [{}, {"ignore_stationary": False}],
    "icon_visualization@v1": [{"mode": mode, "x_position": 5, "y_position": 5}
                              for mode in ("static", "dynamic")],
    "identify_changes@v1": [
        {"strategy": strategy}
        for strategy in (
            "Exponential Moving Average (EMA)", "Simple Moving Average (SMA)", "Sliding Window"
        )
    ],
    "image_blur@v1": [{"blur_type": kind}
                      for kind in ("average", "gaussian", "median", "bilateral")],
    "image_preprocessing@v1": [{"task_type": task} for task in ("resize", "rotate", "flip")],
    "inner_workflow@v1": [
        {
            "workflow_definition": {
                "version": "1.0",
                "inputs": [{"type": "WorkflowParameter", "name": "n"}],
                "steps": [{"type": "roboflow_core/string_template@v1", "name": "text",
                           "template": "{n}", "data": {"n": "$inputs.n"}}],
                "outputs": [
                    {"type": "JsonField", "name": "text", "selector": "$steps.text.output"}
                ],
            }
        }
    ],
    "json_parser@v1": [{"expected_fields": ["a"]}],
    "keypoint_visualization@v1": [{"annotator_type": kind}
                                  for kind in ("edge", "vertex", "vertex_label")],
    "line_counter@v1": [{"line_segment": SQUARE[:2]}],
    "line_counter@v2": [{"line_segment": SQUARE[:2]}],
    "line_counter_visualization@v1": [{"zone": SQUARE[:2]}],
    "local_file_sink@v1": [{"output_mode": "append_log", "file_type": "txt"}],
    "overlap@v1": [{"overlap_class_name": "a"}],
    "path_deviation_analytics@v1": [{"reference_path": SQUARE}],
    "path_deviation_analytics@v2": [{"reference_path": SQUARE}],
    "per_class_confidence_filter@v1": [{"class_thresholds": {"a": 0.5}}],
    "perspective_correction@v1": [{"perspective_polygons": [SQUARE], "warp_image": True}],
    "pixel_color_count@v1": [{"target_color": "#808080"}],
    "polygon_zone_visualization@v1": [{"zone": SQUARE}],
    "property_definition@v1": [{"operations": [{"type": "SequenceLength"}]}],
    "reference_path_visualization@v1": [{"reference_path": SQUARE}],
    "relative_statoic_crop@v1": [
        {"x_center": 0.5, "y_center": 0.5, "width": 0.5, "height": 0.5}
    ],
    "size_measurement@v1": [{"reference_dimensions": "4.5,3.0"}],
    "stitch_ocr_detections@v1": [{"reading_direction": "left_to_right"}],
    "stitch_ocr_detections@v2": [
        {"reading_direction": "auto", "stitching_algorithm": algorithm}
        for algorithm in ("tolerance", "otsu", "collimate")
    ],
    "string_template@v1": [{"template": "{n}", "data": {"n": 1}}],
    "switch_case@v1": [{"value": "x", "cases": {"x": f"$steps.{TARGET}"}}],
    "text_display@v1": [{"text": "abc", "position_mode": mode}
                        for mode in ("absolute", "relative")],
    "threshold@v1": [
        {"thresh_value": 90, "threshold_type": kind}
        for kind in ("binary", "tozero", "adaptive_mean", "otsu")
    ],
    "time_in_zone@v1": [{"zone": SQUARE}],
    "time_in_zone@v2": [{"zone": SQUARE}],
    "time_in_zone@v3": [{"zone": SQUARE}],
    "vlm_as_classifier@v1": [{"classes": ["a", "b"]}],
    "vlm_as_classifier@v2": [{"classes": ["a", "b"]}],
    **{
        f"vlm_as_detector@{version}": [
            {"classes": ["a"], "model_type": "google-gemini", "task_type": "object-detection"}
        ]
        for version in ("v1", "v2")
    },
}  # fmt: skip
MODELS = {
    "object_detection": models.DETECTOR,
    "instance_segmentation": models.SEGMENTER,
    "keypoint_detection": models.POINTS,
    "semantic_segmentation": models.CLASS_MAP,
    "classification": models.CLASSIFIER,
    "multi_label_classification": models.LABELLER,
}


class OneStep(NamedTuple):
    """A workflow whose step is called `step`, and inputs on which it works."""

    definition: dict[str, Any]
    inputs: dict[str, Any]

    def with_literal(self, field: str, value: Any) -> OneStep:
        """The workflow with another value in a field of the step."""
        step, *others = self.definition["steps"]
        return self._replace(
            definition={**self.definition, "steps": [{**step, field: value}, *others]}
        )

    def with_parameter(self, field: str) -> OneStep:
        """The workflow with a field of the step that takes the parameter `given`."""
        changed = self.with_literal(field, GIVEN)
        declared = [*changed.definition["inputs"], {"type": "WorkflowParameter", "name": "given"}]
        return changed._replace(definition={**changed.definition, "inputs": declared})

    def with_other_step(self, field: str) -> OneStep:
        """The workflow with a field of the step that takes what another step makes of the parameter
        `given`: itself.
        """
        changed = self.with_parameter(field).with_literal(field, "$steps.other.output")
        steps = [*changed.definition["steps"], {**PASSING, "name": "other", "data": [GIVEN]}]
        return changed._replace(definition={**changed.definition, "steps": steps})

    def given(self, value: Any) -> OneStep:
        """The workflow with a value for the parameter `given`."""
        return self._replace(inputs={**self.inputs, "given": value})


def one_step_workflows(type_id: str, folder: Path) -> Iterator[OneStep]:
    """The ways in which a block can be run; `folder` is where sinks write."""
    spec = SPECS[type_id]
    short = type_id.partition("/")[2]
    for literals in LITERALS.get(short, [{}]):
        workflow = _workflow(spec, {**_model_of(short), **literals})
        if "target_directory" in workflow.inputs:
            workflow.inputs["target_directory"] = [str(folder)]
        yield workflow


def _model_of(short: str) -> dict[str, Any]:
    name = short.removeprefix("roboflow_").partition("_model@")[0]
    return {"model_id": MODELS[name]} if short.startswith("roboflow_") else {}


def _workflow(spec: BlockSpec, literals: Mapping[str, Any]) -> OneStep:
    step: dict[str, Any] = {"type": spec.type_id, "name": "step", **literals}
    steps, declared, inputs = [step], [], {}
    for name, field in spec.fields.items():
        if field.accepts_literal and not (field.required and name not in literals):
            continue
        if any(reference.element == "step" for reference in field.references):
            step[name] = [f"$steps.{TARGET}"]
            continue
        kinds = _kinds(field)
        declared.append(_input(name, kinds, 1 + spec.input_offsets.get(name, 0)))
        made = BY_FIELD.get((spec.type_id, name))
        kind = next((kind for kind in BY_KIND if kind in kinds), "*")
        value = BY_KIND[kind]() if made is None else made()
        inputs[name] = value if kinds == ["image"] else [value]
        source = f"$inputs.{name}"
        if {reference.element for reference in field.references} == {"step_output"}:
            source = f"$steps.{name}.output"
            steps.append({**PASSING, "name": name, "data": [f"$inputs.{name}"]})
        containers = {reference.container for reference in field.references}
        step[name] = {"n": source} if "dict" in containers else source
        if "list" in containers:
            step[name] = [source]
    if spec.is_control_flow:
        steps.append({"type": "roboflow_core/current_time@v1", "name": TARGET})
    outputs = [
        {"type": "JsonField", "name": output.name, "selector": f"$steps.step.{output.name}"}
        for output in spec.outputs
    ]
    definition = {"version": "1.0", "inputs": declared, "steps": steps, "outputs": outputs}
    return OneStep(definition, inputs)


def _kinds(field: FieldSpec) -> list[str]:
    kinds = {kind for reference in field.references for kind in reference.kinds}
    return ["*"] if "*" in kinds else sorted(kinds)


def _input(name: str, kinds: list[str], depth: int) -> dict[str, Any]:
    if kinds == ["image"]:
        return {"type": "WorkflowImage", "name": name}
    return {"type": "WorkflowBatchInput", "name": name, "kind": kinds, "dimensionality": depth}

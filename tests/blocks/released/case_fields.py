"""What the generic case of a block cannot know: fields of a step whose values must mean something,
and other inputs. Keyed by the name of a family, or of one of its versions.

A new block needs an entry here only when its generic case does not run, or shows nothing. Tests
nothing.
"""

from __future__ import annotations

from typing import Any

from tests.blocks.released.case_values import classification, detections, picture

Fields = dict[str, Any]

_ZONE = [[10, 5], [110, 5], [110, 75], [10, 75]]
_LINE = [[60, 0], [60, 79]]

_VALUE_IS_THE_FIRST = {
    "type": "StatementGroup",
    "statements": [
        {
            "type": "BinaryStatement",
            "left_operand": {"type": "DynamicOperand", "operand_name": "value"},
            "comparator": {"type": "=="},
            "right_operand": {"type": "StaticOperand", "value": "value 0"},
        }
    ],
}
_CLASS_IS_CAR = {
    "type": "StatementGroup",
    "statements": [
        {
            "type": "BinaryStatement",
            "left_operand": {
                "type": "DynamicOperand",
                "operations": [{"type": "ExtractDetectionProperty", "property_name": "class_name"}],
            },
            "comparator": {"type": "=="},
            "right_operand": {"type": "StaticOperand", "value": "car"},
        }
    ],
}


def _only_the_first(frame: int, name: str | None = None) -> Fields:
    """The detections of a frame without the others, and with another class name."""
    found = detections(frame)["$detections"]
    row = found["predictions"][0]
    return {"$detections": {**found, "predictions": [{**row, "class": name or row["class"]}]}}


# Outputs of the case, where those of the step cannot be had all at once.
OUTPUTS: dict[str, Fields] = {"inner_workflow": {"soft": "$steps.step.soft"}}

# Values of fields, as they stand in the step.
FIELDS: dict[str, Fields] = {
    "absolute_static_crop": {"x_center": 60, "y_center": 40, "width": 50, "height": 30},
    "anomaly_heatmap_visualization": {"anomaly_threshold": 0.6},
    "buffer": {"length": 2},
    "cache_get": {"key": "last"},
    "cache_set": {"key": "last"},
    "camera-calibration": {
        "fx": 100, "fy": 100, "cx": 60, "cy": 40, "k1": -0.2, "k2": 0.05, "k3": 0, "p1": 0.001,
        "p2": 0,
    },
    "classification_label_visualization": {"predictions": "$steps.before.output"},
    "camera_focus@v2": {"detections": "$inputs.predictions"},
    "continue_if": {
        "condition_statement": _VALUE_IS_THE_FIRST,
        "evaluation_parameters": {"value": "$inputs.value"},
    },
    "contour_measurement": {"contours": "$steps.before.contours"},
    "csv_formatter": {"columns_data": {"answer": "$inputs.value"}},
    "data_aggregator": {
        "data": {"answer": "$inputs.value"}, "interval_unit": "runs", "interval": 2,
        "aggregation_mode": {"answer": ["count", "distinct", "values_counts", "max"]},
    },
    "detection_event_log": {"frame_threshold": 2},
    "detection_offset": {"offset_width": 8, "offset_height": 4},
    "frame_delay": {"offset": -1},
    "inner_workflow": {
        "workflow_definition": {
            "version": "1.0",
            "inputs": [
                {"type": "WorkflowImage", "name": "photo"},
                {"type": "WorkflowParameter", "name": "size", "default_value": 9},
            ],
            "steps": [
                {
                    "type": "roboflow_core/image_blur@v1", "name": "soft", "image": "$inputs.photo",
                    "kernel_size": "$inputs.size",
                },
            ],
            "outputs": [{"type": "JsonField", "name": "soft", "selector": "$steps.soft.image"}],
        },
        "parameter_bindings": {"photo": "$inputs.image"},
    },
    "detections_consensus": {
        "predictions_batches": ["$inputs.predictions", "$inputs.others"], "required_votes": 2,
    },
    "detections_filter": {
        "operations": [{"type": "DetectionsFilter", "filter_operation": _CLASS_IS_CAR}]
    },
    "detections_list_rollup": {
        "parent_detection": "$inputs.predictions", "child_detections": "$steps.collapse.output",
    },
    "detections_stitch": {
        "reference_image": "$inputs.image", "predictions": "$steps.before.predictions",
    },
    "detections_transformation": {
        "operations": [{"type": "SortDetections", "mode": "confidence", "ascending": True}]
    },
    "distance_measurement": {
        "object_1_class_name": "car", "object_2_class_name": "dog", "reference_axis": "horizontal",
        "calibration_method": "pixel to centimeter", "pixel_ratio": 10,
    },
    "dynamic_zone": {"required_number_of_vertices": 4},
    "environment_secrets_store": {"variables_storing_secrets": ["WEFTLENS_TEST_SECRET"]},
    "expression": {
        "data": {"value": "$inputs.value"},
        "switch": {
            "type": "CasesDefinition",
            "cases": [
                {
                    "type": "CaseDefinition", "condition": _VALUE_IS_THE_FIRST,
                    "result": {"type": "StaticCaseResult", "value": "first"},
                }
            ],
            "default": {"type": "StaticCaseResult", "value": "default"},
        },
    },
    "first_non_empty_or_default": {"data": ["$inputs.value"], "default": "nothing"},
    "geotag_detection": {"latitude": 47.4, "longitude": -105.2, "altitude": 70, "heading": 30},
    "grid_visualization": {"width": 180, "height": 120},
    "heatmap_visualization": {"motion_threshold": 5},
    "identify_changes": {"warmup": 1},
    "identify_outliers": {"warmup": 1},
    "icon_visualization": {"predictions": "$inputs.predictions"},
    "image_preprocessing": {"task_type": "resize", "width": 40, "height": 30},
    "image_slicer": {"slice_width": 70, "slice_height": 50},
    "json_parser": {"expected_fields": ["name", "count", "absent"]},
    "keypoint_visualization": {"annotator_type": "vertex_label"},
    "line_counter": {"line_segment": _LINE},
    "line_counter_visualization": {"zone": _LINE},
    "local_file_sink": {
        "content": "$inputs.content", "output_mode": "append_log",
        "target_directory": "$inputs.folder", "file_type": "txt", "file_name_prefix": "log",
    },
    "mask_edge_snap": {"min_contour_area": 5},
    "motion_detection": {
        "minimum_contour_area": 20, "history": 2, "suppress_first_detections": False,
    },
    "overlap": {"overlap_class_name": "dog", "overlap_type": "Any Overlap"},
    "path_deviation_analytics": {"reference_path": [[10, 25], [60, 40], [110, 30]]},
    "per_class_confidence_filter": {"class_thresholds": {"car": 0.75}},
    "perspective_correction": {
        "perspective_polygons": [[[10, 5], [110, 10], [100, 75], [5, 70]]],
        "predictions": "$inputs.predictions", "warp_image": True,
    },
    "pixel_color_count": {"target_color": [200, 200, 200]},
    "polygon_zone_visualization": {"zone": _ZONE},
    "property_definition": {
        "operations": [{"type": "StringToUpperCase"}],
    },
    "reference_path_visualization": {"reference_path": [[10, 25], [60, 40], [110, 30]]},
    "qr_code_generator": {"text": "https://example.org/ä", "fill_color": "#1d4ed8"},
    "relative_statoic_crop": {"x_center": 0.5, "y_center": 0.5, "width": 0.4, "height": 0.5},
    "size_measurement": {"reference_dimensions": "4.5,3.0"},
    "stitch_ocr_detections": {"reading_direction": "left_to_right"},
    "stitch_ocr_detections@v2": {
        "reading_direction": "left_to_right", "stitching_algorithm": "otsu",
    },
    "sift_comparison@v1": {
        "descriptor_1": "$steps.before.descriptors", "descriptor_2": "$steps.before.descriptors",
    },
    "sift_comparison@v2": {"visualize": True, "good_matches_threshold": 5},
    "string_template": {
        "template": "it is {value}", "data": {"value": "$inputs.value"},
    },
    "stabilize_detections": {"bbox_smoothing_coefficient": 0.5},
    "switch_case": {
        "value": "$inputs.value", "cases": {"value 0": "$steps.after"},
    },
    "text_display": {"text": "count: 3"},
    "threshold": {"thresh_value": 90},
    "time_in_zone": {"zone": _ZONE},
    "velocity": {"detections": "$steps.before.output"},
    "vlm_as_classifier": {"classes": ["cat", "dog"]},
    "vlm_as_detector": {
        "classes": ["car"], "model_type": "google-gemini", "task_type": "object-detection",
    },
    "vlm_as_detector@v2": {
        "classes": ["car"], "model_type": "anthropic-claude", "task_type": "object-detection",
    },
    "trackers_botsort": {"enable_cmc": True, "instant_first_frame_activation": True},
    "trackers_ocsort": {"minimum_consecutive_frames": 2},
    "trackers_sort": {"minimum_consecutive_frames": 2},
    "track_class_lock": {"min_votes": 1, "vote_confidence": 0.75, "lead_margin": 0},
}  # fmt: skip

_ANSWERS = [
    {**classification(frame), "parent_id": row["detection_id"]}
    for frame, row in zip((0, 1, 0), detections(0)["$detections"]["predictions"], strict=True)
]
_CROPS = {
    "type": "roboflow_core/dynamic_crop@v1", "name": "before", "images": "$inputs.image",
    "predictions": "$inputs.predictions",
}  # fmt: skip
# Steps that run before the block's own, where it takes only what a step gives.
STEPS_BEFORE: dict[str, list[Fields]] = {
    "cache_get": [
        {
            "type": "roboflow_core/cache_set@v1", "name": "before", "image": "$inputs.image",
            "key": "last", "value": "$inputs.value",
        }
    ],
    "classification_label_visualization": [
        {
            "type": "roboflow_core/first_non_empty_or_default@v1", "name": "before",
            "data": ["$inputs.classification"],
        }
    ],
    "contour_measurement": [
        {
            "type": "roboflow_core/contours_detection@v1", "name": "before",
            "image": "$inputs.image",
        }
    ],
    "detections_list_rollup": [
        _CROPS,
        {
            "type": "roboflow_core/dimension_collapse@v1", "name": "collapse",
            "data": "$steps.before.predictions",
        },
    ],
    "detections_stitch": [_CROPS],
    "sift_comparison@v1": [
        {"type": "roboflow_core/sift@v1", "name": "before", "image": "$inputs.image"}
    ],
    "velocity": [
        {
            "type": "roboflow_core/first_non_empty_or_default@v1", "name": "before",
            "data": ["$inputs.detections"],
        }
    ],
}  # fmt: skip

# Inputs beside or in place of those a block asks for: name to (kind, values of the two frames).
INPUTS: dict[str, dict[str, tuple[str, list[Any]]]] = {
    "classification_label_visualization": {
        "classification": ("classification_prediction", [classification(0), classification(1)])
    },
    "auto_rotate_on_edges": {
        "image": ("image", [picture(0, "tilted"), picture(1, "tilted", angle=-4.0)])
    },
    "background_subtraction": {
        "image": ("image", [picture(frame, "moving_square", t=frame) for frame in (0, 1)])
    },
    "barcode_detector": {"image": ("image", [{"$asset": "ean13.png"}, {"$asset": "code128.png"}])},
    "camera_focus": {"image": ("image", [picture(0, "blocks", w=120, h=80)] * 2)},
    "contour_measurement": {"image": ("image", [picture(0, "shapes"), picture(1, "shapes")])},
    "contrast_enhancement": {
        "image": ("image", [picture(0, "patch_scene"), picture(1, "discs", w=160, h=120, n=4)])
    },
    "contours_detection": {
        "image": ("image", [picture(0, "shapes"), picture(1, "discs", w=160, h=120, n=4)])
    },
    "detections_consensus": {
        "others": ("object_detection_prediction", [detections(1), detections(1)])
    },
    "cosine_similarity": {
        "embedding_2": ("embedding", [{"$array": [0.3, -0.2, 0.1]}, {"$array": [1, 1, 1]}])
    },
    "detections_classes_replacement": {
        # One answer for each crop of the one image.
        "classification_predictions": ("classification_prediction", [[_ANSWERS], [_ANSWERS[1:]]])
    },
    "detections_difference": {
        "candidate_predictions": ("object_detection_prediction", [detections(1), detections(0)])
    },
    "detections_list_rollup": {
        "predictions": (
            "instance_segmentation_prediction",
            [detections(0, masks=True), detections(1, masks=True)],
        )
    },
    "detections_stitch": {
        "predictions": (
            "instance_segmentation_prediction",
            [detections(0, masks=True), detections(1, masks=True)],
        )
    },
    "icon_visualization": {"icon": ("image", [picture(0, "icon_rgba")] * 2)},
    "motion_detection": {
        "image": ("image", [picture(frame, "moving_square", t=frame) for frame in (0, 1)])
    },
    "perspective_correction": {
        "predictions": ("object_detection_prediction", [detections(0), detections(1)])
    },
    "qr_code_detector": {"image": ("image", [{"$asset": "qr_two.png"}, {"$asset": "qr_one.png"}])},
    "roboflow_classification_model": {
        "image": ("image", [picture(0, "solid"), picture(1, "solid", color=[200, 30, 30])])
    },
    "sift": {"image": ("image", [picture(0, "blocks", w=120, h=80)] * 2)},
    "sift_comparison@v1": {"image": ("image", [picture(0, "blocks", w=120, h=80)] * 2)},
    "sift_comparison@v2": {
        "input_1": ("image", [picture(0, "blocks", w=120, h=80)] * 2),
        "input_2": ("image", [picture(0, "blocks", w=120, h=80), picture(0, "patch")]),
    },
    "stabilize_detections": {
        "detections": ("object_detection_prediction", [detections(0), _only_the_first(1)])
    },
    "stitch_images": {
        "image1": ("image", [picture(0, "panorama", part=0)] * 2),
        "image2": ("image", [picture(0, "panorama", part=1)] * 2),
    },
    "template_matching": {
        "image": ("image", [picture(0, "patch_scene"), picture(1, "patch_scene")]),
        "template": ("image", [picture(0, "patch")] * 2),
    },
    "track_class_lock": {
        "detections": ("object_detection_prediction", [detections(0), _only_the_first(1, "dog")])
    },
    "vlm_as_classifier": {
        "vlm_output": (
            "language_model_output",
            [
                '{"class_name": "dog", "confidence": "0.7"}',
                '```json\n{"predicted_classes": [{"class": "cat", "confidence": 0.4}]}\n```',
            ],
        )
    },
    "vlm_as_detector@v2": {
        "vlm_output": (
            "language_model_output",
            ['[{"box_2d": [10, 20, 50, 60], "label": "car"}]', "I see nothing."],
        )
    },
    "vlm_as_detector": {
        "vlm_output": (
            "language_model_output",
            [
                '[{"box_2d": [100, 200, 500, 600], "label": "car"}]',
                'Here: {"detections": [{"x_min": 0.1, "y_min": 0.2, "x_max": 0.5, "y_max": 0.9, '
                '"class_name": "ghost", "confidence": 0.25}]}',
            ],
        )
    },
}
# Parameters of the run.
PARAMETERS: dict[str, dict[str, Any]] = {
    "local_file_sink": {"folder": {"$tmpdir": True}, "content": "a line"},
}
# Settings of the comparison, see `tests/conformance/compare.py`.
COMPARE: dict[str, dict[str, Any]] = {
    "csv_formatter": {
        "rules": [{"path": "**.csv_content", "regex": r"^timestamp,answer\n\d{4}-.*,value \d\n$"}]
    },
    "current_time": {
        "rules": [
            {"path": "**.date", "regex": r"^\d{4}-\d\d-\d\d$"},
            {"path": "**.time", "regex": r"^\d\d:\d\d:\d\d"},
            {"path": "**.iso_string", "regex": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"},
            {"path": "**.timestamp", "regex": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"},
        ]
    },
}
# Constructor arguments of the block.
INIT_PARAMETERS: dict[str, dict[str, Any]] = {
    "environment_secrets_store": {"workflows_core.allow_access_to_environmental_variables": True},
}

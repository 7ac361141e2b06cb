"""The table of families. A new family is a new row; code is needed only for a rule no other family
has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from inference_models.errors import ModelImplementationNotFoundError, nearest_name_hint
from inference_models.families.descriptor import Family, MaskRule
from inference_models.families.native.table import NATIVE_FAMILIES
from inference_models.packages.package import ModelPackage
from inference_models.packages.tasks import Task

_YOLO_V8_LIKE = ("yolov8", "yolov9", "yolov11", "yolo11", "yolov12", "yolo12")
_PROTOS_PROBABILITY = MaskRule("protos", "sigmoid", threshold=0.5, cut_to_box=True)
_PROTOS_LOGIT = MaskRule("protos", None, threshold=0.0, cut_to_box=True)
_YOLO_NAMES = {"predictions": ("output0",), "protos": ("output1",)}

_ANCHOR_FREE = Family(_YOLO_V8_LIKE, Task.OBJECT_DETECTION, {"predictions": 0})
_WITH_OBJECTNESS = Family(
    ("yolov5", "yolov7"),
    Task.OBJECT_DETECTION,
    {"predictions": 0},
    layout="rows",
    score_rule="objectness-times-class",
)
_END_TO_END = Family(
    ("yolov10", "yolo26"),
    Task.OBJECT_DETECTION,
    {"predictions": 0},
    layout="rows",
    box_format="xyxy",
    score_rule="row",
    suppression="none",
)
_QUERIES = Family(
    ("rfdetr",),
    Task.OBJECT_DETECTION,
    {"boxes": 0, "logits": 1},
    output_names={
        "boxes": ("dets", "pred_boxes"),
        "logits": ("labels", "pred_logits"),
        "masks": ("masks", "pred_masks"),
    },
    layout="rows",
    box_unit="fraction",
    score_rule="query-sigmoid",
    suppression="none",
    fit_longer_edge_as="stretch",
    stretches_input=True,
    scaling_factor=255.0,
)
_DECLARED_OUTPUTS = Family(
    ("detector-with-nms",),
    Task.OBJECT_DETECTION,
    {},
    score_rule="declared-outputs",
    suppression="none",
    inclusive_threshold=True,
)
_PRIORS = Family(
    ("yolact",),
    Task.INSTANCE_SEGMENTATION,
    {"offsets": 0, "scores": 1, "coefficients": 2, "priors": 3, "protos": 4},
    layout="rows",
    box_format="prior-offsets",
    box_unit="fraction",
    score_rule="softmax-with-background",
    mask=MaskRule("protos-last", "sigmoid", threshold=0.5, cut_to_box=True),
)

_DETECTORS = (_ANCHOR_FREE, _WITH_OBJECTNESS, _END_TO_END, _QUERIES, _DECLARED_OUTPUTS)

_INSTANCE_SEGMENTERS = (
    replace(
        _ANCHOR_FREE,
        task=Task.INSTANCE_SEGMENTATION,
        outputs={"predictions": 0, "protos": 1},
        output_names=_YOLO_NAMES,
        mask=_PROTOS_PROBABILITY,
    ),
    replace(
        _WITH_OBJECTNESS,
        architectures=("yolov5",),
        task=Task.INSTANCE_SEGMENTATION,
        outputs={"predictions": 0, "protos": 1},
        output_names=_YOLO_NAMES,
        mask=_PROTOS_LOGIT,
    ),
    replace(
        _WITH_OBJECTNESS,
        architectures=("yolov7",),
        task=Task.INSTANCE_SEGMENTATION,
        outputs={"predictions": 0, "protos": 4},
        mask=_PROTOS_LOGIT,
    ),
    replace(
        _END_TO_END,
        architectures=("yolo26",),
        task=Task.INSTANCE_SEGMENTATION,
        outputs={"predictions": 0, "protos": 1},
        output_names=_YOLO_NAMES,
        mask=_PROTOS_LOGIT,
    ),
    replace(
        _QUERIES,
        task=Task.INSTANCE_SEGMENTATION,
        outputs={"boxes": 0, "logits": 1, "masks": 2},
        mask=MaskRule("queries", None, threshold=0.0, cut_to_box=False),
    ),
    _PRIORS,
)

# Behind the class scores of a row stand x, y and confidence of each point.
_KEYPOINT_DETECTORS = (
    replace(_ANCHOR_FREE, task=Task.KEYPOINT_DETECTION, point_values=3),
    replace(_END_TO_END, architectures=("yolo26",), task=Task.KEYPOINT_DETECTION, point_values=3),
)

_WHOLE_IMAGE = (
    Family(
        ("semantic-segmentation", "deep-lab-v3-plus", "matting"),
        Task.SEMANTIC_SEGMENTATION,
        {"scores": 0},
    ),
    Family(("classifier", "resnet", "vit", *_YOLO_V8_LIKE), Task.CLASSIFICATION, {"scores": 0}),
    Family(("classifier", "resnet", "vit"), Task.MULTI_LABEL_CLASSIFICATION, {"scores": 0}),
)

BUILT_IN_FAMILIES: tuple[Family, ...] = (
    *_DETECTORS,
    *_INSTANCE_SEGMENTERS,
    *_KEYPOINT_DETECTORS,
    *_WHOLE_IMAGE,
    *NATIVE_FAMILIES,
)


def family_of(package: ModelPackage, families: Iterable[Family] = BUILT_IN_FAMILIES) -> Family:
    """The family a package belongs to, in the variant its export uses.

    Raises:
        ModelImplementationNotFoundError: no family has this architecture and task.
    """
    known = list(families)
    for family in known:
        if family.task is package.task and package.architecture in family.architectures:
            post = package.inference.post_processing
            fused = post is not None and post.type == "nms" and post.fused
            if fused and family.suppression == "nms":
                return family.with_built_in_suppression()
            return family
    of_task = [
        name for family in known if family.task is package.task for name in family.architectures
    ]
    raise ModelImplementationNotFoundError(
        f'{package.location}: no family "{package.architecture}" for {package.task}; '
        f"known: {', '.join(of_task) or 'none'}",
        hint=nearest_name_hint(package.architecture, of_task),
    )

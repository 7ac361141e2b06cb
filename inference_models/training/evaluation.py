"""Scores of a detector on generated scenes by the COCO protocol, boxes and masks."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from inference_models.families.native.decoding.masks import assemble_masks
from inference_models.families.native.decoding.selection import select_top_k, take_anchors
from inference_models.families.native.detector import DeployedDetector
from inference_models.masks import InstanceMasks, encode_masks
from inference_models.training.scene_data import SceneSource, scene_image

_MAX_DETECTIONS = 100


def evaluate_scenes(
    detector: DeployedDetector,
    source: SceneSource,
    indices: Iterable[int],
    min_score: float = 0.001,
) -> dict[str, float]:
    """COCO scores of the one-to-one branch.

    Args:
        detector: the network in evaluation mode.
        source: generator of scenes whose sides are multiples of 32.
        indices: scenes to score.
        min_score: answers below it are left out.

    Returns:
        `map`, `map_50` and `map_75` of boxes, the same with `segm_` in front of masks where the
        network has them, each 0..1.
    """
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for number, index in enumerate(indices, start=1):
        scene = source.scene(index)
        height, width = scene.instance_map.shape
        images.append({"id": number, "height": height, "width": width})
        annotations.extend(scene.to_coco(number, len(annotations) + 1))
        boxes, scores, labels, masks = detect(detector, scene_image(scene), min_score)
        codes = encode_masks(InstanceMasks.from_dense(masks)) if masks is not None else None
        for row, (x0, y0, x1, y1) in enumerate(boxes.tolist()):
            result = {
                "image_id": number,
                "category_id": int(labels[row]) + 1,
                "bbox": [x0, y0, x1 - x0, y1 - y0],
                "score": float(scores[row]),
            }
            if codes is not None:
                result["segmentation"] = codes[row]
            results.append(result)
    kinds = ("bbox", "segm") if detector.config.task == "segment" else ("bbox",)
    scores_by_name = {}
    for kind in kinds:
        prefix = "" if kind == "bbox" else "segm_"
        names = [f"{prefix}map", f"{prefix}map_50", f"{prefix}map_75"]
        if not results:
            scores_by_name.update(dict.fromkeys(names, 0.0))
            continue
        # The library prints its progress.
        with contextlib.redirect_stdout(io.StringIO()):
            truth = COCO()
            truth.dataset = {
                "images": images,
                "annotations": annotations,
                "categories": [
                    {"id": number, "name": name}
                    for number, name in enumerate(source.class_names, start=1)
                ],
            }
            truth.createIndex()
            scorer = COCOeval(truth, truth.loadRes([dict(one) for one in results]), kind)
            scorer.evaluate()
            scorer.accumulate()
            scorer.summarize()
        for name, value in zip(names, scorer.stats[:3], strict=True):
            scores_by_name[name] = max(float(value), 0.0)
    return scores_by_name


@torch.inference_mode()
def detect(
    detector: DeployedDetector, image: torch.Tensor, min_score: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Boxes (n, 4) xyxy px, scores (n,), classes (n,) and masks (n, H, W) bool of one image.

    Args:
        detector: the network in evaluation mode.
        image: (3, H, W) uint8 RGB, sides multiples of 32.
        min_score: answers below it are left out.
    """
    outputs = detector(image[None].float() / 255)
    selection = select_top_k(outputs.branch, outputs.anchors, _MAX_DETECTIONS)
    rows = selection.rows[0]
    keep = rows[:, 4] >= min_score
    rows = rows[keep]
    masks = None
    if outputs.prototypes is not None and outputs.branch.coefficients is not None:
        coefficients = take_anchors(outputs.branch.coefficients, selection.anchor)[0][keep]
        size = (int(image.shape[1]), int(image.shape[2]))
        masks = assemble_masks(coefficients, outputs.prototypes[0], rows[:, :4], size).numpy()
    return rows[:, :4].numpy(), rows[:, 4].numpy(), rows[:, 5].long().numpy(), masks

"""What sets one family of networks apart from another: data only. The one pipeline that reads it is
beside this file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from inference_models.packages.tasks import Task

Layout = Literal["features-first", "rows"]
BoxFormat = Literal["cxcywh", "xyxy", "prior-offsets"]
BoxUnit = Literal["network-px", "fraction"]
ScoreRule = Literal[
    "best-class",
    "objectness-times-class",
    "row",
    "query-sigmoid",
    "softmax-with-background",
    "declared-outputs",
]


@dataclass(frozen=True, slots=True)
class MaskRule:
    """Where the mask of an instance comes from.

    Attributes:
        source: `protos`: a weighted sum of the prototype masks (c, h, w) with the row's last c
            numbers; `protos-last`: the same with prototypes (h, w, c) and weights in an output of
            their own; `queries`: each query has a mask of its own.
        activation: applied on the network's grid, before the mask is enlarged.
        threshold: a pixel is set when its value after enlarging is above this.
        cut_to_box: whether pixels outside of the box are dropped.
    """

    source: Literal["protos", "protos-last", "queries"]
    activation: Literal["sigmoid"] | None
    threshold: float
    cut_to_box: bool


@dataclass(frozen=True, slots=True)
class Family:
    """A family of networks that answer in the same way.

    Attributes:
        architectures: the names packages use for it.
        task: what it does.
        outputs: role of an output to its position in the graph.
        output_names: role to the names exporters give the output. Where the graph has a name for
            every role, names decide, not positions: a graph that answers with a dictionary has its
            own order.
        layout: `features-first` for predictions (features, anchors), `rows` for (anchors,
            features).
        box_format: order and meaning of the four box numbers.
        box_unit: their unit.
        score_rule: how class and score follow from the other numbers.
        suppression: `nms` when overlapping boxes must be suppressed, `none` when the graph did or
            needs no such step.
        inclusive_threshold: whether a score equal to the threshold is enough.
        mask: where masks come from, None for families without.
        point_values: numbers of one keypoint in a row, 0 for families without.
        fit_longer_edge_as: what replaces the resize mode `fit-longer-edge` when the graph has a
            fixed size.
        stretches_input: whether images are always stretched to the input. Another resize mode of
            the package then says what was done to the images of the training before: it is done
            first, at `dataset_version_resize_dimensions`, and left out without them.
        scaling_factor: what pixel values are divided by where the package does not say.
    """

    architectures: tuple[str, ...]
    task: Task
    outputs: Mapping[str, int]
    output_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    layout: Layout = "features-first"
    box_format: BoxFormat = "cxcywh"
    box_unit: BoxUnit = "network-px"
    score_rule: ScoreRule = "best-class"
    suppression: Literal["nms", "none"] = "nms"
    inclusive_threshold: bool = False
    mask: MaskRule | None = None
    point_values: int = 0
    fit_longer_edge_as: Literal["letterbox", "stretch"] = "letterbox"
    stretches_input: bool = False
    scaling_factor: float | None = None

    def outputs_by_name(self, names: Collection[str]) -> dict[str, str] | None:
        """Role to name of the output, None unless each role has exactly one of its names there."""
        found = {}
        for role in self.outputs:
            known = [name for name in self.output_names.get(role, ()) if name in names]
            if len(known) != 1:
                return None
            found[role] = known[0]
        return found

    def with_built_in_suppression(self) -> Family:
        """The same family exported with suppression in the graph: final rows x1, y1, x2, y2, score,
        class, extras."""
        return replace(
            self,
            layout="rows",
            box_format="xyxy",
            box_unit="network-px",
            score_rule="row",
            suppression="none",
            inclusive_threshold=True,
        )

"""`NativeDetector`, the network that is trained, and `DeployedDetector`, what runs afterwards.

Losses, targets and decoding have their own modules. A training step needs from here only
`NativeDetector(config)`, its call in training mode, and `RawOutputs`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from inference_models.errors import ModelInputError
from inference_models.families.native.anchors import Anchors, make_anchors
from inference_models.families.native.backbone import Backbone
from inference_models.families.native.blocks import ConvNorm
from inference_models.families.native.config import (
    INPUT_MULTIPLE,
    STRIDES,
    BranchName,
    DetectorConfig,
)
from inference_models.families.native.head import PRIOR_SCORE, Branch, BranchOutputs, DualHead
from inference_models.families.native.neck import Neck
from inference_models.families.native.prototypes import PrototypeHead, SemanticHead


@dataclass(frozen=True, slots=True)
class RawOutputs:
    """What a batch of b images gives before any decoding, a anchors an image.

    Nothing is detached: both branches send gradients into neck and backbone.

    Attributes:
        one_to_many: answers of the branch trained with several positives an object.
        one_to_one: answers of the branch trained with one positive an object.
        anchors: places of the answers.
        features: maps of the neck at strides 8, 16 and 32.
        prototypes: (b, mask channels, h / 4, w / 4), task `segment`.
        semantic_logits: (b, classes, h / 8, w / 8), task `segment` in training mode only.
    """

    one_to_many: BranchOutputs
    one_to_one: BranchOutputs
    anchors: Anchors
    features: tuple[Tensor, Tensor, Tensor]
    prototypes: Tensor | None = None
    semantic_logits: Tensor | None = None


@dataclass(frozen=True, slots=True)
class DeployedOutputs:
    """`RawOutputs` of a detector with one branch."""

    branch: BranchOutputs
    anchors: Anchors
    prototypes: Tensor | None = None


class NativeDetector(nn.Module):
    """The whole network with both branches, freshly initialised.

    A call takes (b, channels, h, w) RGB images in 0..1, h and w multiples of 32, and answers with
    `RawOutputs` in both modes.

    Args:
        config: task, scale and classes.
    """

    def __init__(self, config: DetectorConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone = Backbone(config.widths, config.input_channels)
        self.neck = Neck(config.widths, self.backbone.channels)
        self.head = DualHead(config, self.neck.channels)
        self.prototypes: PrototypeHead | None = None
        self.semantic: SemanticHead | None = None
        if config.task == "segment":
            self.prototypes = PrototypeHead(self.neck.channels, config.mask_channels)
            self.semantic = SemanticHead(self.neck.channels[0], config.class_count)
        self.initialise_biases()

    def initialise_biases(self, prior: float = PRIOR_SCORE) -> None:
        """Lets every class score of every head start at `prior`.

        From biases of zero the sum over all anchors of the classification loss is so large that the
        first step can end the training.
        """
        self.head.one_to_many.initialise_biases(prior)
        self.head.one_to_one.initialise_biases(prior)
        if self.semantic is not None:
            self.semantic.initialise_biases(prior)

    def forward(self, images: Tensor) -> RawOutputs:
        """Raw outputs for (b, channels, h, w) images.

        Raises:
            ModelInputError: the images have another number of channels, or a side is no multiple
                of 32.
        """
        require_image_shape(images, self.config)
        maps = self.neck(self.backbone(images))
        one_to_many, one_to_one = self.head(maps)
        prototypes = semantic = None
        if self.prototypes is not None:
            fused = self.prototypes.fuse_levels(maps)
            prototypes = self.prototypes(fused)
            if self.training and self.semantic is not None:
                semantic = self.semantic(fused)
        anchors = _anchors_of(maps)
        return RawOutputs(one_to_many, one_to_one, anchors, maps, prototypes, semantic)

    def deploy(self, branch: BranchName = "one_to_one") -> DeployedDetector:
        """The same network with one branch and without training signals; the weights are shared."""
        chosen = self.head.one_to_one if branch == "one_to_one" else self.head.one_to_many
        return DeployedDetector(self.config, self.backbone, self.neck, chosen, self.prototypes)

    def fuse(self, branch: BranchName = "one_to_one") -> DeployedDetector:
        """A copy of `deploy` in evaluation mode with the normalisations folded into the
        convolutions; it cannot be trained, and this network stays as it is."""
        deployed = copy.deepcopy(self.deploy(branch)).eval()
        for module in deployed.modules():
            if isinstance(module, ConvNorm):
                module.fold_norm()
        return deployed.requires_grad_(False)


class DeployedDetector(nn.Module):
    """Backbone, neck, one branch, and prototypes where masks are wanted.

    Args:
        config: task, scale and classes.
        backbone: image to maps.
        neck: maps to maps.
        branch: maps to answers.
        prototypes: maps to prototype masks, None for tasks without.
    """

    def __init__(
        self,
        config: DetectorConfig,
        backbone: Backbone,
        neck: Neck,
        branch: Branch,
        prototypes: PrototypeHead | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.backbone = backbone
        self.neck = neck
        self.branch = branch
        self.prototypes = prototypes

    def forward(self, images: Tensor) -> DeployedOutputs:
        """Raw outputs for (b, channels, h, w) images.

        Raises:
            ModelInputError: the images have another number of channels, or a side is no multiple
                of 32.
        """
        require_image_shape(images, self.config)
        maps = self.neck(self.backbone(images))
        prototypes = None
        if self.prototypes is not None:
            prototypes = self.prototypes(self.prototypes.fuse_levels(maps))
        return DeployedOutputs(self.branch(maps), _anchors_of(maps), prototypes)


def require_image_shape(images: Tensor, config: DetectorConfig) -> None:
    """Refuses what the network cannot take.

    Raises:
        ModelInputError: the shape is not (b, channels, h, w) with sides that are multiples of 32.
    """
    shape = tuple(images.shape)
    if len(shape) != 4 or shape[1] != config.input_channels:
        raise ModelInputError(
            f"images must be (b, {config.input_channels}, h, w), got {list(shape)}"
        )
    if shape[2] % INPUT_MULTIPLE or shape[3] % INPUT_MULTIPLE or not shape[2] * shape[3]:
        raise ModelInputError(
            f"height and width of images must be multiples of {INPUT_MULTIPLE}, got {shape[2:]}"
        )


def _anchors_of(maps: tuple[Tensor, Tensor, Tensor]) -> Anchors:
    sizes = [(int(values.shape[2]), int(values.shape[3])) for values in maps]
    # Under mixed precision the maps are half precision, in which large coordinates do not fit.
    dtype = torch.promote_types(maps[0].dtype, torch.float32)
    return make_anchors(sizes, STRIDES, dtype, maps[0].device)

"""One training step of the native detector, and what of a training must survive a restart."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import numpy as np
import torch
from pytorch_lightning import LightningModule
from torch import Tensor

from inference_models.errors import CorruptedModelPackageError, ModelRuntimeError
from inference_models.families.native.anchors import distances_to_boxes
from inference_models.families.native.config import DetectorConfig
from inference_models.families.native.detector import NativeDetector, RawOutputs
from inference_models.families.native.head import BranchOutputs
from inference_models.training.losses.detection import DualLoss, Gains, dual_loss
from inference_models.training.losses.masks import instance_mask_loss, semantic_loss
from inference_models.training.optimisation import (
    MuSGD,
    WeightAverage,
    branch_share,
    learning_rate_factor,
)
from inference_models.training.scene_data import MASK_STRIDE
from inference_models.training.targets import TargetBatch

CHECKPOINT_KEY = "weftlens_training"
# Those whose outputs all have a part of the loss.
_TASKS = ("detect", "segment")


class TrainingDivergedError(ModelRuntimeError):
    """The loss is no number any more."""

    code = "training_diverged"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a detector is trained.

    Attributes:
        lr: learning rate after the rise.
        final_lr_factor: factor of it at the end.
        warmup_epochs: epochs of the rise.
        momentum: of the optimiser.
        weight_decay: of matrices.
        gains: factors of the parts of the loss.
        first_share: weight of the one-to-many branch in the first epoch.
        last_share: weight of it in the last epoch.
        close_mosaic: epochs at the end without mosaics; 0 never closes them.
        average_decay: greatest decay of the averaged weights.
        average_warmup: updates after which the decay is 63 % of it.
        max_mask_positives: positives a batch and branch whose masks are computed, all when None.
    """

    lr: float = 0.01
    final_lr_factor: float = 0.01
    warmup_epochs: float = 3.0
    momentum: float = 0.95
    weight_decay: float = 5e-4
    gains: Gains = field(default_factory=Gains)
    first_share: float = 0.8
    last_share: float = 0.1
    close_mosaic: int = 10
    average_decay: float = 0.9999
    average_warmup: float = 2000.0
    max_mask_positives: int | None = None


class DetectorTraining(LightningModule):
    """Trains a native detector for boxes or for boxes with masks.

    A training that has a time limit counts the share of the time that is over as progress when that
    is ahead of its epochs, so that the learning rate has fallen when the time is up.

    Args:
        config: the network.
        class_names: name of each class by id; kept in checkpoints.
        recipe: how to train.
        time_limit_s: seconds of training, all sessions together; no limit when None.

    Raises:
        ValueError: the network has another task, or another number of classes than names.
    """

    def __init__(
        self,
        config: DetectorConfig,
        class_names: Sequence[str],
        recipe: Recipe | None = None,
        time_limit_s: float | None = None,
    ) -> None:
        super().__init__()
        if config.task not in _TASKS:
            raise ValueError(
                f'only networks for {" or ".join(_TASKS)} can be trained, got "{config.task}"'
            )
        if len(class_names) != config.class_count:
            raise ValueError(f"{config.class_count} classes need names, got {list(class_names)}")
        self.config = config
        self.class_names = tuple(class_names)
        self.recipe = recipe or Recipe()
        self.time_limit_s = time_limit_s
        self.network = NativeDetector(config)
        # Kernels and images with channels last are faster, on CPUs as on GPUs.
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average = WeightAverage(
            self.network, self.recipe.average_decay, self.recipe.average_warmup
        )
        self.best_score: float | None = None
        self.share = self.recipe.first_share
        self._seconds_before = 0.0
        self._started = time.monotonic()

    # The loss ------------------------------------------------------------------------------

    def training_step(self, batch: tuple[Tensor, TargetBatch], batch_index: int) -> Tensor:
        images, targets = batch
        outputs: RawOutputs = self.network(self.prepare_images(images))
        with torch.autocast(images.device.type, enabled=False):
            total, parts = self.objective(outputs, targets)
        if not torch.isfinite(total):
            found = ", ".join(f"{name} {float(value):.4g}" for name, value in parts.items())
            raise TrainingDivergedError(f"step {self.global_step}: the loss is no number: {found}")
        self.log("train/loss", total, prog_bar=True)
        self.log_dict({f"train/{name}": value for name, value in parts.items()})
        return total

    @staticmethod
    def prepare_images(images: Tensor) -> Tensor:
        """(b, 3, H, W) uint8 to float 0..1, channels last in memory."""
        return (images.float() / 255).contiguous(memory_format=torch.channels_last)

    def objective(
        self, outputs: RawOutputs, targets: TargetBatch
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a batch and its parts before their gains."""
        gains = self.recipe.gains
        anchors = outputs.anchors
        # Places of anchors are exact only in float32.
        points, strides = anchors.points.float(), anchors.strides.float()
        anchors = type(anchors)(points, strides)

        def boxes_of(branch: BranchOutputs) -> tuple[Tensor, Tensor]:
            boxes = distances_to_boxes(branch.distances.float(), anchors)
            return branch.class_logits.float(), boxes

        dual = dual_loss(
            boxes_of(outputs.one_to_many),
            boxes_of(outputs.one_to_one),
            points,
            strides,
            _upright(targets),
            self.share,
            gains,
        )
        parts = {
            f"{branch}_{name}": getattr(getattr(dual, branch), name).detach()
            for branch in ("one_to_many", "one_to_one")
            for name in ("box", "classes", "l1")
        }
        total = dual.total
        if self.config.task == "segment":
            total = total + self._mask_terms(outputs, targets, dual, parts)
        return total, parts

    def _mask_terms(
        self,
        outputs: RawOutputs,
        targets: TargetBatch,
        dual: DualLoss,
        parts: dict[str, Tensor],
    ) -> Tensor:
        assert outputs.prototypes is not None
        prototypes = outputs.prototypes.float()
        masks = targets.masks
        if masks is None:
            shape = (len(prototypes), 0, *prototypes.shape[2:])
            masks = torch.zeros(shape, dtype=torch.uint8, device=prototypes.device)
        losses = []
        for branch, assignment in (
            (outputs.one_to_many, dual.many_assignment),
            (outputs.one_to_one, dual.one_assignment),
        ):
            assert branch.coefficients is not None
            losses.append(
                instance_mask_loss(
                    branch.coefficients.float(),
                    prototypes,
                    assignment,
                    masks,
                    MASK_STRIDE,
                    self.recipe.max_mask_positives,
                )
            )
        mask = self.share * losses[0] + (1 - self.share) * losses[1]
        parts["mask"] = mask.detach()
        total = self.recipe.gains.mask * mask
        if outputs.semantic_logits is not None:
            semantic = semantic_loss(
                outputs.semantic_logits.float(), masks, targets.labels, targets.present
            )
            parts["semantic"] = semantic.detach()
            total = total + self.recipe.gains.semantic * semantic
        return total

    # Progress ------------------------------------------------------------------------------

    @property
    def elapsed_s(self) -> float:
        """Seconds of training, earlier sessions included."""
        return self._seconds_before + time.monotonic() - self._started

    def progress(self) -> float:
        """How much of the training is over, 0..1."""
        total = float(self.trainer.estimated_stepping_batches)
        done = self.global_step / total if math.isfinite(total) else 0.0
        if self.time_limit_s is not None:
            done = max(done, self.elapsed_s / self.time_limit_s)
        return min(done, 1.0)

    def epoch_position(self) -> float:
        """The epoch, or the one the time limit has come to if that is later."""
        epochs = self._epochs()
        position = float(self.current_epoch)
        if self.time_limit_s is not None:
            position = max(position, self.elapsed_s / self.time_limit_s * epochs)
        return min(position, epochs - 1.0)

    def _epochs(self) -> int:
        return self.trainer.max_epochs or 1

    def on_train_start(self) -> None:
        self._started = time.monotonic()

    def on_train_epoch_start(self) -> None:
        recipe = self.recipe
        position = self.epoch_position()
        # The share keeps to whole epochs unless time runs out.
        self.share = branch_share(position, self._epochs(), recipe.first_share, recipe.last_share)
        if recipe.close_mosaic and position >= self._epochs() - recipe.close_mosaic:
            data = self.trainer.datamodule  # type: ignore[attr-defined]
            if data is not None:
                data.close_mosaic()

    def on_train_batch_start(self, batch: Any, batch_index: int) -> int | None:
        if self.time_limit_s is not None and self.elapsed_s >= self.time_limit_s:
            self.trainer.should_stop = True
            return -1
        total = float(self.trainer.estimated_stepping_batches)
        warmup = round(total * self.recipe.warmup_epochs / self._epochs())
        # With a time limit the step is where the progress says, but the rise goes by real steps.
        step = self.global_step
        if step >= warmup:
            step = max(step, round(self.progress() * total))
        factor = learning_rate_factor(step, int(total), warmup, self.recipe.final_lr_factor)
        for group in self.optimizers().param_groups:  # type: ignore[union-attr]
            group["lr"] = self.recipe.lr * factor
        return None

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_index: int) -> None:
        self.average.update(self.network)

    def configure_optimizers(self) -> MuSGD:
        recipe = self.recipe
        return MuSGD(self.network.parameters(), recipe.lr, recipe.momentum, recipe.weight_decay)

    # Checkpoints ---------------------------------------------------------------------------

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        # The older form is a tuple, which loads without unpickling arrays.
        numpy_state = cast(tuple[Any, ...], np.random.get_state(legacy=True))
        checkpoint[CHECKPOINT_KEY] = {
            "config": self.config.to_json(),
            "class_names": list(self.class_names),
            "recipe": asdict(self.recipe),
            "average": self.average.state_dict(),
            "best_score": self.best_score,
            "seconds": self.elapsed_s,
            "random": {
                "torch": torch.get_rng_state(),
                "python": random.getstate(),
                "numpy": (numpy_state[0], numpy_state[1].tolist(), *numpy_state[2:]),
            },
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Takes up a saved training.

        Raises:
            CorruptedModelPackageError: the checkpoint is of another network or other classes.
        """
        state = checkpoint.get(CHECKPOINT_KEY)
        if state is None:
            raise CorruptedModelPackageError("the checkpoint holds no training of a detector")
        if state["config"] != self.config.to_json():
            raise CorruptedModelPackageError(
                f"the checkpoint is of the network {state['config']}, not {self.config.to_json()}"
            )
        if tuple(state["class_names"]) != self.class_names:
            raise CorruptedModelPackageError(
                f"the checkpoint has the classes {state['class_names']}, "
                f"not {list(self.class_names)}"
            )
        self.average.load_state_dict(state["average"])
        self.best_score = state["best_score"]
        self._seconds_before = state["seconds"]
        kept = state["random"]
        torch.set_rng_state(kept["torch"])
        version, internal, gauss = kept["python"]
        random.setstate((version, tuple(internal), gauss))
        name, keys, *rest = kept["numpy"]
        np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))


def _upright(targets: TargetBatch) -> TargetBatch:
    """The targets without rotated boxes, which would restrict the candidates."""
    return TargetBatch(targets.boxes, targets.labels, targets.present, targets.masks)

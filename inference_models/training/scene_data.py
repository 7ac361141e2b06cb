"""Generated scenes as batches for training: what is drawn when, in which process, and how it
becomes tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import cv2
import numpy as np
import torch
from pytorch_lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from inference_models.training.scenes.scene import Scene
from inference_models.training.targets import TargetBatch, Targets

# Pixels of a cell of the prototype grid.
MASK_STRIDE = 4
# Scenes of validation and tests come from indices no training reaches.
HELD_OUT_START = 1 << 40
# (number of the scene, whether it is a mosaic)
Request = tuple[int, bool]


class SceneSource(Protocol):
    """A generator of scenes of one size."""

    @property
    def class_names(self) -> Sequence[str]: ...

    def scene(self, index: int) -> Scene: ...


def scene_targets(scene: Scene) -> Targets:
    """A scene's objects; masks as coverage of the cells of the prototype grid."""
    return Targets(
        boxes=torch.from_numpy(scene.boxes),
        labels=torch.from_numpy(scene.class_ids),
        masks=torch.from_numpy(_coverage(scene.instance_map, len(scene))),
        rotated_boxes=torch.from_numpy(scene.rotated_boxes),
        keypoints=torch.from_numpy(scene.keypoints),
        visibility=torch.from_numpy(scene.keypoint_visibility),
    )


def scene_image(scene: Scene) -> Tensor:
    """(3, H, W) uint8 RGB."""
    return torch.from_numpy(np.ascontiguousarray(scene.image[:, :, ::-1].transpose(2, 0, 1)))


def _coverage(instance_map: np.ndarray, count: int) -> np.ndarray:
    height, width = instance_map.shape
    rows, columns = height // MASK_STRIDE, width // MASK_STRIDE
    masks = np.zeros((count, rows, columns), dtype=np.uint8)
    for index in range(count):
        mask = (instance_map == index + 1).view(np.uint8) * np.uint8(255)
        # Whole-number shrinking by area is the exact mean of each cell.
        masks[index] = cv2.resize(mask, (columns, rows), interpolation=cv2.INTER_AREA)
    return masks


def join_scenes(scenes: Sequence[Scene]) -> Scene:
    """Four scenes of equal size as one of twice the size: a mosaic, row by row.

    Raises:
        ValueError: there are not exactly four, or more than 255 objects in all.
    """
    if len(scenes) != 4:
        raise ValueError(f"a mosaic takes 4 scenes, got {len(scenes)}")
    height, width = scenes[0].instance_map.shape
    counts = [len(scene) for scene in scenes]
    if sum(counts) > 255:
        raise ValueError(f"a scene holds at most 255 objects, the mosaic has {sum(counts)}")
    image = np.empty((2 * height, 2 * width, 3), dtype=np.uint8)
    instance_map = np.zeros((2 * height, 2 * width), dtype=np.uint8)
    boxes, rotated, keypoints = [], [], []
    for number, scene in enumerate(scenes):
        y, x = (number // 2) * height, (number % 2) * width
        image[y : y + height, x : x + width] = scene.image
        part = scene.instance_map
        shifted = part + np.uint8(sum(counts[:number]))
        instance_map[y : y + height, x : x + width] = np.where(part > 0, shifted, 0)
        boxes.append(scene.boxes + np.array([x, y, x, y], dtype=np.float32))
        rotated.append(scene.rotated_boxes + np.array([x, y, 0, 0, 0], dtype=np.float32))
        keypoints.append(scene.keypoints + np.array([x, y], dtype=np.float32))
    return Scene(
        image=image,
        class_ids=np.concatenate([scene.class_ids for scene in scenes]),
        boxes=np.concatenate(boxes),
        instance_map=instance_map,
        rotated_boxes=np.concatenate(rotated),
        keypoints=np.concatenate(keypoints),
        keypoint_visibility=np.concatenate([scene.keypoint_visibility for scene in scenes]),
    )


class SceneDataset(Dataset[tuple[Tensor, Targets]]):
    """Draws a scene for each request; the request alone decides what comes out.

    No process has a random stream of its own, so neither workers nor epochs can repeat each other.

    Args:
        source: generator of whole scenes.
        mosaic_source: generator of scenes of half the size for mosaics; none are made without.
    """

    def __init__(self, source: SceneSource, mosaic_source: SceneSource | None = None) -> None:
        self.source = source
        self.mosaic_source = mosaic_source

    def __getitem__(self, request: Request) -> tuple[Tensor, Targets]:
        index, mosaic = request
        if mosaic and self.mosaic_source is not None:
            parts = [self.mosaic_source.scene(4 * index + part) for part in range(4)]
            scene = join_scenes(parts)
        else:
            scene = self.source.scene(index)
        return scene_image(scene), scene_targets(scene)


class EpochScenes(Sampler[Request]):
    """New scenes in every epoch: epoch e asks for numbers e * n to (e + 1) * n - 1. Or the same
    ones, 0 to n - 1, in another order each time.

    Which of them are mosaics is decided here, in the training process. Workers that live on get to
    know it with each request, so closing mosaics reaches them.

    Args:
        count: scenes of an epoch, n.
        seed: number of the mosaic choice.
        mosaic: share of mosaics, 0..1; may be changed between epochs.
        repeat: whether every epoch has the same scenes.
    """

    def __init__(self, count: int, seed: int, mosaic: float = 0.0, repeat: bool = False) -> None:
        self.count = count
        self.seed = seed
        self.mosaic = mosaic
        self.repeat = repeat
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next pass."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Request]:
        rng = np.random.default_rng((self.seed, self.epoch))
        choice = rng.random(self.count)
        first = self.epoch * self.count
        numbers = rng.permutation(self.count) if self.repeat else range(first, first + self.count)
        for place, number in enumerate(numbers):
            yield int(number), bool(choice[place] < self.mosaic)


def collate(items: Sequence[tuple[Tensor, Targets]]) -> tuple[Tensor, TargetBatch]:
    """(b, 3, H, W) uint8 images and their padded targets; a handful of tensors however many objects
    there are."""
    return torch.stack([image for image, _ in items]), TargetBatch.pad([one for _, one in items])


class SceneData(LightningDataModule):
    """Training batches of new scenes.

    Args:
        source: generator of scenes.
        mosaic_source: generator of scenes of half the size, for mosaics.
        scenes_per_epoch: scenes of an epoch.
        batch_size: scenes of a step.
        seed: number of the mosaic choice.
        mosaic: share of mosaics until they are closed.
        workers: processes that draw; 0 draws in the training process.
        repeat: whether every epoch has the same scenes.
    """

    def __init__(
        self,
        source: SceneSource,
        mosaic_source: SceneSource | None = None,
        scenes_per_epoch: int = 1600,
        batch_size: int = 16,
        seed: int = 0,
        mosaic: float = 0.0,
        workers: int = 1,
        repeat: bool = False,
    ) -> None:
        super().__init__()
        self.dataset = SceneDataset(source, mosaic_source)
        self.sampler = EpochScenes(scenes_per_epoch, seed, mosaic, repeat)
        self.batch_size = batch_size
        self.workers = workers

    def close_mosaic(self) -> None:
        """No mosaics from the next epoch on."""
        self.sampler.mosaic = 0.0

    def train_dataloader(self) -> DataLoader[Any]:
        # A forked process would inherit thread pools of OpenCV and OpenMP without their threads and
        # could wait for them forever.
        context = "spawn" if self.workers else None
        return DataLoader(
            self.dataset,
            batch_size=self.batch_size,
            sampler=self.sampler,
            num_workers=self.workers,
            collate_fn=collate,
            drop_last=True,
            worker_init_fn=_use_one_thread if self.workers else None,
            persistent_workers=self.workers > 0,
            multiprocessing_context=context,
        )


def _use_one_thread(_: int) -> None:
    cv2.setNumThreads(1)
    torch.set_num_threads(1)

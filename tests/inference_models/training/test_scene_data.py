"""Scenes as training batches: requests, mosaics, masks on the prototype grid."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("pytorch_lightning")

from inference_models.training.scene_data import (  # noqa: E402
    EpochScenes,
    SceneData,
    SceneDataset,
    collate,
    join_scenes,
    scene_image,
    scene_targets,
)
from inference_models.training.scenes import PartScenes, ShapeScenes  # noqa: E402

SOURCE = ShapeScenes(3, (64, 96))


class TestSceneTargets:
    def test_masks_are_the_mean_of_each_cell(self) -> None:
        """255 times the covered share of each cell of four by four px."""
        scene = SOURCE.scene(1)
        targets = scene_targets(scene)
        assert len(targets) == len(scene) > 0
        share = scene.masks.reshape(len(scene), 16, 4, 24, 4).mean((2, 4))
        assert np.abs(targets.masks.numpy() - share * 255).max() <= 0.5

    def test_image_is_rgb(self) -> None:
        """Channels come first and are turned round."""
        scene = SOURCE.scene(0)
        image = scene_image(scene).numpy()
        assert image.shape == (3, 64, 96)
        assert np.array_equal(image[0], scene.image[..., 2])
        assert np.array_equal(image[2], scene.image[..., 0])


class TestJoinScenes:
    def test_quarters_keep_their_objects(self) -> None:
        """Each quarter shows its scene; boxes, masks and points move with it."""
        parts = [SOURCE.scene(index) for index in range(4)]
        joined = join_scenes(parts)
        assert len(joined) == sum(map(len, parts))
        first = 0
        for number, part in enumerate(parts):
            y, x = (number // 2) * 64, (number % 2) * 96
            rows = slice(first, first + len(part))
            assert np.array_equal(joined.image[y : y + 64, x : x + 96], part.image)
            assert np.array_equal(joined.masks[rows, y : y + 64, x : x + 96], part.masks)
            assert joined.masks[rows].sum() == part.masks.sum()
            assert np.array_equal(joined.boxes[rows], part.boxes + np.float32([x, y, x, y]))
            assert np.array_equal(joined.keypoints[rows], part.keypoints + np.float32([x, y]))
            moved = part.rotated_boxes + np.float32([x, y, 0, 0, 0])
            assert np.array_equal(joined.rotated_boxes[rows], moved)
            first += len(part)

    def test_takes_four(self) -> None:
        """Another number of scenes is refused."""
        with pytest.raises(ValueError, match="takes 4 scenes, got 3"):
            join_scenes([SOURCE.scene(0)] * 3)


class TestEpochScenes:
    def test_epochs_never_repeat(self) -> None:
        """New epochs ask for new numbers, in order."""
        sampler = EpochScenes(5, seed=0)
        numbers = []
        for epoch in range(3):
            sampler.set_epoch(epoch)
            numbers += [number for number, _ in sampler]
        assert numbers == list(range(15))

    def test_repeated_scenes_are_shuffled(self) -> None:
        """The same numbers in another order each epoch."""
        sampler = EpochScenes(20, seed=0, repeat=True)
        orders = []
        for epoch in range(2):
            sampler.set_epoch(epoch)
            orders.append([number for number, _ in sampler])
        assert sorted(orders[0]) == sorted(orders[1]) == list(range(20))
        assert orders[0] != orders[1]

    def test_share_of_mosaics(self) -> None:
        """Seed and epoch decide which scenes are mosaics; closing ends them."""
        sampler = EpochScenes(400, seed=0, mosaic=0.25)
        chosen = [mosaic for _, mosaic in sampler]
        assert chosen == [mosaic for _, mosaic in sampler]
        assert 70 < sum(chosen) < 130
        sampler.mosaic = 0.0
        assert not any(mosaic for _, mosaic in sampler)


class TestSceneDataset:
    def test_mosaics_come_from_their_own_source(self) -> None:
        """A mosaic joins four scenes of half the size, other ones than any neighbour's."""
        small = ShapeScenes(9, (32, 48))
        dataset = SceneDataset(SOURCE, small)
        image, targets = dataset[(2, True)]
        expected = join_scenes([small.scene(8 + part) for part in range(4)])
        assert torch.equal(image, scene_image(expected))
        assert torch.equal(targets.boxes, torch.from_numpy(expected.boxes))
        plain, _ = dataset[(2, False)]
        assert torch.equal(plain, scene_image(SOURCE.scene(2)))


class TestSceneData:
    def data(self, workers: int) -> SceneData:
        source, small = PartScenes(1, (64, 64)), PartScenes(2, (32, 32))
        return SceneData(source, small, 8, 2, seed=0, mosaic=0.4, workers=workers)

    def batches(self, data: SceneData, loader: object, epoch: int) -> list[torch.Tensor]:
        data.sampler.set_epoch(epoch)
        return [images for images, _ in loader]  # type: ignore[attr-defined]

    def test_workers_change_nothing(self) -> None:
        """Two processes give the same two epochs as none, and the epochs differ."""
        plain, forked = self.data(0), self.data(2)
        loaders = plain.train_dataloader(), forked.train_dataloader()
        seen = []
        for epoch in range(2):
            one = self.batches(plain, loaders[0], epoch)
            other = self.batches(forked, loaders[1], epoch)
            assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
            seen += [image.numpy().tobytes() for batch in one for image in batch]
        assert len(set(seen)) == len(seen) == 16

    def test_closing_reaches_living_workers(self) -> None:
        """Workers that were started before mosaics were closed draw none afterwards."""
        data = self.data(1)
        loader = data.train_dataloader()
        self.batches(data, loader, 0)
        data.close_mosaic()
        found = torch.cat(self.batches(data, loader, 1))
        expected = [scene_image(data.dataset.source.scene(index)) for index in range(8, 16)]
        assert torch.equal(found, torch.stack(expected))


class TestCollate:
    def test_few_tensors(self) -> None:
        """However many objects there are, a batch is one image tensor and seven others."""
        images, targets = collate([SceneDataset(SOURCE)[(index, False)] for index in range(3)])
        assert images.shape == (3, 3, 64, 96)
        assert images.dtype == torch.uint8
        assert targets.present.sum() == sum(len(SOURCE.scene(index)) for index in range(3))
        assert targets.masks is not None

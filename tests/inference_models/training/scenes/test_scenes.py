"""Rules every generator of scenes keeps: exact annotations, and nothing but the seed decides."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from inference_models.errors import ModelInputError
from inference_models.training.scenes import (
    PART_CLASSES,
    SHAPE_CLASSES,
    PartScenes,
    Scene,
    SceneStyle,
    ShapeScenes,
)
from inference_models.training.scenes.backgrounds import read_photographs
from inference_models.training.scenes.parts import PART_MAKERS
from inference_models.training.scenes.scene import DrawnObject, collect_scene

GENERATORS = {"shapes": ShapeScenes, "parts": PartScenes}


@pytest.fixture(scope="module", params=sorted(GENERATORS))
def scenes(request: pytest.FixtureRequest) -> list[Scene]:
    """Twelve scenes of each generator."""
    generator = GENERATORS[request.param](5, (160, 224))
    return [generator.scene(index) for index in range(12)]


def equal(first: Scene, second: Scene) -> bool:
    """Whether two scenes agree in every number."""
    return all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in Scene.__slots__
    )


class TestScene:
    def test_shapes_and_dtypes(self, scenes: list[Scene]) -> None:
        """Every field has the documented shape and dtype, whatever the number of objects."""
        for scene in scenes:
            n = len(scene)
            k = scene.keypoints.shape[1]
            assert scene.image.shape == (160, 224, 3)
            assert scene.image.dtype == np.uint8
            assert scene.instance_map.shape == (160, 224)
            assert scene.class_ids.shape == (n,)
            assert scene.class_ids.dtype == np.int64
            assert scene.boxes.shape == (n, 4)
            assert scene.boxes.dtype == np.float32
            assert scene.rotated_boxes.shape == (n, 5)
            assert scene.keypoints.shape == (n, k, 2)
            assert scene.keypoint_visibility.shape == (n, k)
            assert scene.masks.shape == (n, 160, 224)

    def test_there_are_objects(self, scenes: list[Scene]) -> None:
        """The other tests are not about empty scenes only."""
        assert sum(map(len, scenes)) > 24

    def test_boxes_are_the_bounds_of_the_masks(self, scenes: list[Scene]) -> None:
        """A box is the tightest one round the visible pixels."""
        for scene in scenes:
            for mask, box in zip(scene.masks, scene.boxes, strict=True):
                rows, columns = np.nonzero(mask)
                expected = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
                assert box.tolist() == expected

    def test_masks_are_disjoint(self, scenes: list[Scene]) -> None:
        """A pixel belongs to one object at most."""
        for scene in scenes:
            assert scene.masks.sum(axis=0).max(initial=0) <= 1

    def test_rotated_boxes_hold_the_visible_pixels(self, scenes: list[Scene]) -> None:
        """Not more than rounding sticks out of the rotated box."""
        for scene in scenes:
            for mask, rotated in zip(scene.masks, scene.rotated_boxes, strict=True):
                rows, columns = np.nonzero(mask)
                cx, cy, w, h, theta = rotated
                dx, dy = columns + 0.5 - cx, rows + 0.5 - cy
                along = np.abs(dx * np.cos(theta) + dy * np.sin(theta)) - w / 2
                across = np.abs(dy * np.cos(theta) - dx * np.sin(theta)) - h / 2
                assert along.max() < 1.0
                assert across.max() < 1.0

    def test_centre_is_the_first_keypoint(self, scenes: list[Scene]) -> None:
        """Every object has its centre, at the middle of the rotated box."""
        for scene in scenes:
            assert (scene.keypoint_visibility[:, 0] > 0).all()
            assert np.allclose(scene.keypoints[:, 0], scene.rotated_boxes[:, :2], atol=1e-3)

    def test_visible_keypoints_lie_in_the_picture(self, scenes: list[Scene]) -> None:
        """Points outside count as hidden."""
        for scene in scenes:
            points = scene.keypoints[scene.keypoint_visibility == 2]
            assert (points >= 0).all()
            assert (points < [224, 160]).all()


class TestGenerators:
    @pytest.mark.parametrize("name", sorted(GENERATORS))
    def test_seed_and_index_decide_everything(self, name: str) -> None:
        """A scene can be drawn again alone, by another generator object."""
        first = GENERATORS[name](3, (128, 128))
        for index in range(4):
            first.scene(index)
        assert equal(first.scene(2), GENERATORS[name](3, (128, 128)).scene(2))

    @pytest.mark.parametrize("name", sorted(GENERATORS))
    def test_seeds_and_indices_differ(self, name: str) -> None:
        """Neither another index nor another seed repeats a picture."""
        make = GENERATORS[name]
        pictures = [make(seed, (64, 64)).scene(index).image for seed in (1, 2) for index in (0, 1)]
        for one in range(4):
            for other in range(one):
                assert not np.array_equal(pictures[one], pictures[other])

    @pytest.mark.parametrize("name", sorted(GENERATORS))
    def test_global_random_state_is_untouched(self, name: str) -> None:
        """Drawing takes nothing from numpy's global stream."""
        np.random.seed(0)
        before = np.random.random()
        np.random.seed(0)
        GENERATORS[name](3, (64, 64)).scene(0)
        assert np.random.random() == before

    def test_all_classes_occur(self) -> None:
        """Every class name is drawn before long."""
        for generator in (ShapeScenes(1, (96, 96)), PartScenes(1, (160, 160))):
            seen = {
                int(class_id)
                for index in range(60)
                for class_id in generator.scene(index).class_ids
            }
            assert seen == set(range(len(generator.class_names)))

    def test_shapes_differ_from_the_background(self) -> None:
        """A shape's colour is 60 away from its surroundings in some channel, up to the grain."""
        scene = ShapeScenes(1).scene(0)
        for mask in scene.masks:
            ring = cv2.dilate(mask.view(np.uint8), np.ones((9, 9))).astype(bool)
            ring &= scene.instance_map == 0
            inside = scene.image[mask].mean(axis=0)
            assert np.abs(scene.image[ring].mean(axis=0) - inside).max() > 50

    def test_empty_scenes(self) -> None:
        """A style of nothing but ground gives scenes without objects."""
        scene = PartScenes(1, (96, 96), style=SceneStyle(empty=1.0)).scene(0)
        assert len(scene) == 0
        assert scene.masks.shape == (0, 96, 96)
        assert scene.to_coco(1, 1) == []

    def test_grey_scenes(self) -> None:
        """A style of black-and-white photographs has equal channels."""
        image = PartScenes(1, (96, 96), style=SceneStyle(grey=1.0)).scene(0).image
        assert (image == image[..., :1]).all()

    def test_photographs_show_through(self) -> None:
        """Grounds are cut from the given photographs."""
        red = np.zeros((300, 300, 3), dtype=np.uint8)
        red[..., 2] = 200
        style = SceneStyle(photograph=1.0, empty=1.0, grey=0.0, tray=0.0)
        generator = PartScenes(1, (96, 96), [red], style)
        channels = np.mean([generator.scene(index).image.mean((0, 1)) for index in range(8)], 0)
        assert channels[2] > channels[0] + 60


class TestPartMakers:
    @pytest.mark.parametrize("name", PART_CLASSES)
    @pytest.mark.parametrize("size", [24, 131])
    def test_part_lies_in_its_frame(self, name: str, size: int) -> None:
        """No outline is cut by the frame, and the extent is that of the outline."""
        for seed in range(6):
            part = PART_MAKERS[name](np.random.default_rng(seed), size)
            assert part.alpha.shape == part.height.shape == part.tone.shape == (size, size)
            border = np.concatenate([part.alpha[[0, -1]].ravel(), part.alpha[:, [0, -1]].ravel()])
            # Antialiasing widens outlines by up to a pixel, which is a lot of the smallest frame.
            assert border.max() < 128 or size == 24
            rows, columns = np.nonzero(part.alpha > 127)
            unit = size / 2 / 1.1
            assert abs((columns.max() + 1 - size / 2) / unit - part.extent[0]) < 2.5 / unit
            assert abs((rows.max() + 1 - size / 2) / unit - part.extent[1]) < 2.5 / unit

    @pytest.mark.parametrize(
        ("name", "through"), [("washer", True), ("nut", True), ("coin", False)]
    )
    def test_bores_are_open(self, name: str, through: bool) -> None:
        """One sees the ground through a washer and not through a coin."""
        part = PART_MAKERS[name](np.random.default_rng(1), 64)
        assert (part.alpha[32, 32] == 0) == through


class TestCollectScene:
    def collect(self, instance_map: np.ndarray, pixels: list[int]) -> Scene:
        objects = [
            DrawnObject(index, (4.0, 4.0, 2.0, 2.0, 0.0), np.full((1, 2), 4.5), np.array([True]), n)
            for index, n in enumerate(pixels)
        ]
        image = np.zeros((*instance_map.shape, 3), dtype=np.uint8)
        return collect_scene(image, instance_map, objects, 1, min_visible=0.5, min_pixels=4)

    def test_hidden_objects_go_and_the_rest_is_renumbered(self) -> None:
        """What is mostly covered becomes background; numbers stay without gaps."""
        instance_map = np.zeros((8, 8), dtype=np.uint8)
        instance_map[0, :4] = 1
        instance_map[2:5, 2:6] = 2
        scene = self.collect(instance_map, [20, 12])
        assert scene.class_ids.tolist() == [1]
        assert scene.boxes.tolist() == [[2, 2, 6, 5]]
        assert scene.instance_map.sum() == 12

    def test_tiny_objects_go(self) -> None:
        """An object of fewer pixels than the bound gets no annotation."""
        instance_map = np.zeros((8, 8), dtype=np.uint8)
        instance_map[0, :3] = 1
        assert len(self.collect(instance_map, [3])) == 0

    def test_point_under_another_object_is_hidden(self) -> None:
        """Visibility is 1 where another object lies on top of the point, 2 on its own pixels."""
        instance_map = np.zeros((8, 8), dtype=np.uint8)
        instance_map[:, :4] = 1
        instance_map[:, 4:] = 2
        scene = self.collect(instance_map, [32, 32])
        assert scene.keypoint_visibility.tolist() == [[1], [2]]


class TestToCoco:
    def test_equals_the_scene(self) -> None:
        """Decoded run lengths, areas and boxes are those of the masks."""
        mask_api = pytest.importorskip("pycocotools.mask")
        scene = PartScenes(4, (128, 96)).scene(1)
        annotations = scene.to_coco(image_id=7, first_annotation_id=30)
        assert len(annotations) == len(scene) > 0
        for index, annotation in enumerate(annotations):
            assert annotation["id"] == 30 + index
            assert annotation["image_id"] == 7
            assert annotation["category_id"] == scene.class_ids[index] + 1
            mask = mask_api.decode(annotation["segmentation"]).astype(bool)
            assert np.array_equal(mask, scene.masks[index])
            assert annotation["area"] == mask.sum()
            x, y, w, h = annotation["bbox"]
            assert [x, y, x + w, y + h] == scene.boxes[index].tolist()


class TestReadPhotographs:
    def test_excluded_names_and_other_files_are_left_out(self, tmp_path: Path) -> None:
        """Only pictures come back, in the order of their names, shrunk to the bound."""
        for name, value in (("b.png", 10), ("a.png", 20), ("coins.png", 30)):
            cv2.imwrite(str(tmp_path / name), np.full((40, 80, 3), value, dtype=np.uint8))
        (tmp_path / "notes.txt").write_text("no picture")
        pictures = read_photographs(tmp_path, exclude=["coins.png"], longest_side=20)
        assert [int(picture[0, 0, 0]) for picture in pictures] == [20, 10]
        assert pictures[0].shape == (10, 20, 3)

    def test_names_beyond_ascii(self, tmp_path: Path) -> None:
        """A name in any script is read, pixel for pixel; folders and broken files are left out."""
        pixels = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
        (tmp_path / "Münze 硬币.png").write_bytes(cv2.imencode(".png", pixels)[1].tobytes())
        (tmp_path / "empty.png").write_bytes(b"")
        (tmp_path / "broken.jpg").write_bytes(b"no picture")
        (tmp_path / "folder.png").mkdir()
        [picture] = read_photographs(tmp_path)
        assert np.array_equal(picture, pixels)

    def test_missing_folder(self, tmp_path: Path) -> None:
        """The message names the folder."""
        with pytest.raises(ModelInputError, match="no folder of background photographs at"):
            read_photographs(tmp_path / "nowhere")

    def test_folder_without_pictures(self, tmp_path: Path) -> None:
        """An empty folder is an error, not a silent choice of procedural grounds."""
        with pytest.raises(ModelInputError, match="holds no background photographs"):
            read_photographs(tmp_path)


def test_class_names() -> None:
    """The class lists are what the packages name."""
    assert SHAPE_CLASSES == ("circle", "square", "rectangle", "triangle")
    assert PART_CLASSES == ("coin", "washer", "nut", "bolt", "gear", "plate", "cap")

from __future__ import annotations

import numpy as np
import pytest
import supervision as sv

from blocks.kinds.detections.same_image import require_made_on, require_one_image
from tests.blocks.detection_sets import a_crop, an_image, some

BOX = [[1, 1, 5, 5]]


def from_outside(parent: str, root: str | None = "input") -> sv.Detections:
    """Detections as they are read from JSON that names no place."""
    detections = some(BOX)
    detections.data["parent_id"] = np.array([parent])
    if root is not None:
        detections.data["root_parent_id"] = np.array([root])
    return detections


class TestRequireMadeOn:
    def test_same_image(self) -> None:
        """Detections made on the image fit."""
        image = an_image()
        require_made_on(some(BOX, image), image)

    def test_other_root(self) -> None:
        """Detections made on another input do not."""
        with pytest.raises(ValueError, match=r"'left'.*made on 'right' of root 'right'"):
            require_made_on(some(BOX, an_image(name="right")), an_image(name="left"))

    def test_other_crop_of_the_same_root(self) -> None:
        """Detections on one crop do not fit another one."""
        image = an_image()
        first, second = a_crop(image, (0, 0, 9, 9), "one"), a_crop(image, (9, 9, 20, 20), "two")
        with pytest.raises(ValueError, match=r"the image is 'one'.*made on 'two'"):
            require_made_on(some(BOX, second), first)

    def test_changed_parent(self) -> None:
        """A block may have put a detection for the parent: the place still fits."""
        image = an_image()
        detections = some(BOX, image)
        detections.data["parent_id"] = np.array(["d0"])
        require_made_on(detections, image)

    def test_from_outside(self) -> None:
        """Detections that know no place may name any parent but another image at hand."""
        require_made_on(from_outside("input", "input"), an_image(name="image"))
        require_made_on(from_outside("elsewhere"), an_image(name="image"), ["image", "image.[1]"])
        with pytest.raises(ValueError, match=r"'image.\[0\]'.*'image.\[1\]'"):
            require_made_on(
                from_outside("image.[1]"), an_image(name="image.[0]"), ["image.[0]", "image.[1]"]
            )

    def test_parent_alone(self) -> None:
        """A parent without a root was given on purpose and must fit."""
        with pytest.raises(ValueError, match=r"'image'.*'other'"):
            require_made_on(from_outside("other", None), an_image(name="image"))

    def test_nothing_to_compare(self) -> None:
        """No rows and no parents are no fault."""
        image = an_image(name="image")
        require_made_on(some([], an_image(name="other")), image)
        require_made_on(some(BOX), image)


class TestRequireOneImage:
    def test_one(self) -> None:
        """Sets of one image fit, those without rows count for nothing."""
        image = an_image()
        require_one_image([some(BOX, image), some(BOX, image), some([], an_image(name="x"))], "s")

    def test_changed_parent(self) -> None:
        """A set whose detections have detections for parents still lies in its image."""
        image = an_image()
        changed = some(BOX, image)
        changed.data["parent_id"] = np.array(["d0"])
        require_one_image([some(BOX, image), changed], "s")

    @pytest.mark.parametrize(
        "other",
        [some(BOX, an_image(name="right")), from_outside("right")],
        ids=["known", "outside"],
    )
    def test_two(self, other: sv.Detections) -> None:
        """Sets of different images are refused by name."""
        with pytest.raises(ValueError, match=r"the sets must come from one image, .*left, right"):
            require_one_image([some(BOX, an_image(name="left")), other], "the sets")

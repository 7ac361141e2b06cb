"""Targets of one picture and padded batches."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from inference_models.training.targets import TargetBatch, Targets  # noqa: E402


def objects(count: int, first: int = 0) -> Targets:
    """Targets whose numbers tell the rows apart."""
    rows = torch.arange(first, first + count, dtype=torch.float32)
    return Targets(
        boxes=rows[:, None].repeat(1, 4),
        labels=rows.long(),
        masks=rows[:, None, None].repeat(1, 2, 3).to(torch.uint8),
        rotated_boxes=rows[:, None].repeat(1, 5),
        keypoints=rows[:, None, None].repeat(1, 2, 2),
        visibility=rows[:, None].repeat(1, 2).long(),
    )


class TestTargets:
    @pytest.mark.parametrize(
        ("changes", "error", "message"),
        [
            ({"boxes": torch.zeros(2, 5)}, ValueError, "boxes has the wrong shape"),
            ({"boxes": torch.zeros(2, 4).double()}, TypeError, "boxes must be torch.float32"),
            ({"labels": torch.zeros(3, dtype=torch.int64)}, ValueError, "labels has 3 rows for 2"),
            ({"labels": torch.zeros(2)}, TypeError, "labels must be torch.int64"),
            ({"rotated_boxes": torch.zeros(1, 5)}, ValueError, "rotated_boxes has 1 rows for 2"),
            ({"keypoints": torch.zeros(2, 4, 2)}, ValueError, "visibility"),
        ],
    )
    def test_refuses(self, changes: dict, error: type[Exception], message: str) -> None:
        """Wrong ranks, dtypes and counts are refused when the object is made."""
        fields = {"boxes": torch.zeros(2, 4), "labels": torch.zeros(2, dtype=torch.int64)}
        with pytest.raises(error, match=message):
            Targets(**(fields | changes))

    def test_select_filters_every_field_alike(self) -> None:
        """Row i of all fields stays the same object."""
        kept = objects(4).select(torch.tensor([True, False, False, True]))
        assert kept.labels.tolist() == [0, 3]
        assert kept.boxes[:, 0].tolist() == [0, 3]
        assert kept.masks[:, 0, 0].tolist() == [0, 3]
        assert kept.rotated_boxes[:, 4].tolist() == [0, 3]
        assert kept.keypoints[:, 1, 1].tolist() == [0, 3]
        assert kept.visibility[:, 0].tolist() == [0, 3]

    def test_select_copies(self) -> None:
        """Writing into the selection leaves the source alone."""
        source = objects(2)
        source.select(torch.tensor([True, True])).boxes.fill_(9)
        assert source.boxes.max() == 1

    def test_select_refuses_numbers(self) -> None:
        """Indices are no mask."""
        with pytest.raises(TypeError, match=r"keep must be torch\.bool"):
            objects(2).select(torch.tensor([0, 1]))


class TestTargetBatch:
    def test_pads_to_the_most_objects(self) -> None:
        """Rows of each picture come first, zeros and absence behind."""
        batch = TargetBatch.pad([objects(1, 7), objects(0), objects(3, 1)])
        assert batch.present.tolist() == [[True, False, False], [False] * 3, [True] * 3]
        assert batch.labels.tolist() == [[7, 0, 0], [0, 0, 0], [1, 2, 3]]
        assert batch.masks is not None
        assert batch.masks[:, :, 1, 2].tolist() == [[7, 0, 0], [0, 0, 0], [1, 2, 3]]
        assert batch.keypoints is not None
        assert batch.keypoints.shape == (3, 3, 2, 2)

    def test_only_empty_pictures(self) -> None:
        """A batch without any object has no rows."""
        batch = TargetBatch.pad([objects(0), objects(0)])
        assert batch.boxes.shape == (2, 0, 4)
        assert batch.present.shape == (2, 0)
        assert batch.masks is None

    def test_pictures_that_disagree(self) -> None:
        """One picture with masks and one without cannot be a batch."""
        plain = Targets(torch.zeros(1, 4), torch.zeros(1, dtype=torch.int64))
        with pytest.raises(ValueError, match="disagree about masks"):
            TargetBatch.pad([objects(1), plain])

"""Which known ids a misspelt type id reminds of."""

from __future__ import annotations

import pytest

from execution_engine.registry.likeness import nearest_type_ids

RUNNABLE = {
    "core/image_blur@v1": "core/image_blur@v1",
    "core/image_slicer@v1": "core/image_slicer@v1",
    "core/image_slicer@v2": "core/image_slicer@v2",
    "core/pixel_color_count@v1": "core/pixel_color_count@v1",
    "core/continue_if@v1": "core/continue_if@v1",
    "core/threshold@v1": "core/threshold@v1",
    "SwitchCase": "core/switch_case@v1",
    "core/switch_case@v1": "core/switch_case@v1",
}
NAMED = {
    "core/webhook_sink@v1": "core/webhook_sink@v1",
    "core/s3_sink@v1": "core/s3_sink@v1",
    "core/slack_sink@v1": "core/slack_sink@v1",
    "core/email_sink@v1": "core/email_sink@v1",
    "core/image_slicer@v3": "core/image_slicer@v3",
}


class TestNearestTypeIds:
    def test_a_text_that_is_no_id(self) -> None:
        """A long text reminds of nothing, and does not take seconds to find that out."""
        assert nearest_type_ids("image_blur" * 10_000, RUNNABLE, NAMED, 3) == []

    @pytest.mark.parametrize(
        ("written", "first"),
        [
            ("core/image_blurr@v1", "core/image_blur@v1"),
            ("core/image_blur@v7", "core/image_blur@v1"),
            ("ImageBlur", "core/image_blur@v1"),
            ("image-blur", "core/image_blur@v1"),
            ("croe/tresholdd", "core/threshold@v1"),
            ("core/count_pixels@v1", "core/pixel_color_count@v1"),
            ("switchcase", "core/switch_case@v1"),
            ("CSVSink", "core/s3_sink@v1"),
        ],
    )
    def test_the_first(self, written: str, first: str) -> None:
        """Prefix, version, case, plural and order of words do not matter."""
        assert nearest_type_ids(written, RUNNABLE, NAMED, 3)[0] == first

    def test_at_most_as_many_as_asked_for(self) -> None:
        """The limit holds, each block comes once, under its canonical id."""
        assert len(nearest_type_ids("CSVSink", RUNNABLE, NAMED, 3)) == 3
        assert nearest_type_ids("SwitchCases", RUNNABLE, NAMED, 3) == ["core/switch_case@v1"]

    def test_runnable_and_newer_ones_first(self) -> None:
        """At equal likeness blocks that can run come first, newer versions before older ones."""
        assert nearest_type_ids("core/image_slicer@v9", RUNNABLE, NAMED, 3) == [
            "core/image_slicer@v2",
            "core/image_slicer@v1",
            "core/image_slicer@v3",
        ]

    @pytest.mark.parametrize("written", ["zzzz", "", "@v1", "/", "ßß"])
    def test_nothing_near(self, written: str) -> None:
        """What reminds of nothing gets no suggestion."""
        assert nearest_type_ids(written, RUNNABLE, NAMED, 3) == []

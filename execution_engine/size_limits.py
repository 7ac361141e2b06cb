"""`SizeLimits`: how much one run may hold, as numbers. Nothing is counted or refused here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """How much one run may hold; None for no limit.

    Attributes:
        max_batch: most elements of one batch input, those of nested lists counted together.
        max_elements: most elements that one step may make of its batch (slices, crops).
        max_total_pixels: largest sum of height times width of the images that are decoded.
        max_image_bytes: most bytes of all images that the steps of a run make and hold.
    """

    max_batch: int | None = None
    max_elements: int | None = None
    max_total_pixels: int | None = None
    max_image_bytes: int | None = None


NO_LIMITS = SizeLimits()

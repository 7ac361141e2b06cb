"""The codecs of the kinds of predictions. Importing this loads neither supervision nor torch."""

from __future__ import annotations

from execution_engine.kinds.codec import KindCodec


def core_codecs() -> list[KindCodec]:
    """Codecs of detections of every kind, of their overlaps, and of tensors."""
    from blocks.kinds.detections.codec import detections_codecs
    from blocks.kinds.overlaps import DetectionsOverlapsCodec
    from blocks.kinds.tensor import TensorCodec

    return [*detections_codecs(), DetectionsOverlapsCodec(), TensorCodec()]

"""The codecs of the kinds of predictions. Importing this loads neither supervision nor torch."""

from __future__ import annotations

from execution_engine.kinds.codec import KindCodec


def core_codecs() -> list[KindCodec]:
    """Codecs of detections of every kind, of their overlaps, of tensors and of predictions on the
    tensor side.
    """
    from blocks.kinds.detections.codec import detections_codecs
    from blocks.kinds.overlaps import DetectionsOverlapsCodec
    from blocks.kinds.tensor import TensorCodec
    from blocks.kinds.tensor_predictions.representation import tensor_codecs

    return [*detections_codecs(), DetectionsOverlapsCodec(), TensorCodec(), *tensor_codecs()]

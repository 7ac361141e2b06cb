"""How many rows a run must give, told from what is sent. Reads no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workflows.remote.errors import ServerAnswerError
from workflows.remote.signature import Signature


def require_rows(
    rows: Sequence[Any], signature: Signature, inputs: Mapping[str, Any], server: str
) -> None:
    """Refuses an answer with more or fewer rows than a local run gives.

    Args:
        rows: the outputs of a run.
        signature: what is known of the workflow.
        inputs: the inputs as they were sent.
        server: address of the server.

    Raises:
        ServerAnswerError: the number is none that the inputs allow.
    """
    allowed = row_counts(signature, inputs)
    if len(rows) in allowed:
        return
    expected = " or ".join(str(count) for count in sorted(allowed))
    why = "a run without a batch gives one row"
    if signature.is_batched is False:
        why = "no output of the workflow has a value for each element of the batch"
    elif allowed != {1}:
        why = "one for each element of the batch"
        if signature.is_batched is None:
            why += ", or a single one when no output has a value for each"
    raise ServerAnswerError(
        f"The server {server} answered with {len(rows)} row{'' if len(rows) == 1 else 's'}, "
        f"expected {expected}: {why}.",
        server,
    )


def row_counts(signature: Signature, inputs: Mapping[str, Any]) -> frozenset[int]:
    """The numbers of rows that a run may give.

    Args:
        signature: what is known of the workflow. Where it does not say whether an input is a batch,
            a list for it counts as a batch and as one value.
        inputs: the inputs as they were sent.
    """
    sizes = _batch_sizes(signature, inputs)
    if signature.is_batched:
        return sizes
    # Without a value for each element, servers differ on an empty batch: no row, or the one row.
    others = frozenset({0} if 0 in sizes else ())
    return others | {1} if signature.is_batched is False else sizes | {1}


def _batch_sizes(signature: Signature, inputs: Mapping[str, Any]) -> frozenset[int]:
    """The size of the batch: that of the first batch input whose list is none of one element."""
    possible = {1}
    for name, shape in signature.inputs.items():
        value = inputs.get(name)
        if shape.depth == 0 or not isinstance(value, list) or len(value) == 1:
            continue
        if shape.depth is not None:
            return frozenset({len(value)})
        possible.add(len(value))
    return frozenset(possible)

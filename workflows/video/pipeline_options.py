"""What callers of `InferencePipeline` and of the pipeline routes may ask for, in the terms of
`VideoOptions`. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from execution_engine.profiling import ChromeTraceProfiler
from workflows.video.errors import VideoOptionError
from workflows.video.run import Policy, VideoOptions
from workflows.video.sources import SourceLike, VideoSource, source_of

# Live sources may be so late in the mode `auto`, in seconds.
USUAL_STALENESS = 0.5
# And so long a batch then waits for the slower sources.
_SHORT_PATIENCE = 0.1

_FILLING: dict[str, Policy] = {
    "WAIT": "wait",
    "DROP_OLDEST": "drop",
}
_CONSUMPTION = {"LAZY": False, "EAGER": True}
_MODES = ("legacy", "auto", "every_frame", "freshest")


def consumption(
    *,
    filling_strategy: Any,
    consumption_strategy: Any,
    processing_mode: Any,
    max_staleness: float | None,
    patience: float | None,
    buffer_size: int | None,
) -> dict[str, Any]:
    """Fields of `VideoOptions` that say how frames are kept or dropped.

    Args:
        filling_strategy: `WAIT` or `DROP_OLDEST`, as text or as an enumeration of these names;
            None waits for files and drops of live sources.
        consumption_strategy: `LAZY` takes frames in order, `EAGER` the newest and drops the rest.
        processing_mode: `legacy` (as if not given), `every_frame` (nothing is dropped), `freshest`
            (one frame waits at most) or `auto` (frames in order, too old ones dropped).
        max_staleness: seconds for `auto`, 0.5 when None.
        patience: seconds a batch waits for slower sources; None for no limit (0.1 in the modes
            `auto` and `freshest`).
        buffer_size: decoded frames that wait at most.

    Raises:
        VideoOptionError: a value is not known, or two contradict each other.
    """
    mode = _chosen("video_processing_mode", processing_mode, _MODES, str.lower) or "legacy"
    filling = _chosen("source_buffer_filling_strategy", filling_strategy, _FILLING, str.upper)
    taking = _chosen(
        "source_buffer_consumption_strategy", consumption_strategy, _CONSUMPTION, str.upper
    )
    if mode != "legacy" and (filling or taking):
        raise refusal(
            f"video_processing_mode '{mode}' and a buffer strategy both say which frames are "
            "dropped; give one"
        )
    if max_staleness is not None and mode != "auto":
        raise refusal("max_staleness belongs to video_processing_mode 'auto'")
    fields: dict[str, Any] = {
        "policy": None if filling is None else _FILLING[filling],
        "newest": bool(taking and _CONSUMPTION[taking]),
        "buffer_size": buffer_size,
        "batch_patience": patience,
    }
    if mode == "every_frame":
        fields["policy"] = "wait"
    elif mode != "legacy" and patience is None:
        fields["batch_patience"] = _SHORT_PATIENCE
    if mode == "freshest":
        fields["newest"] = True
    elif mode == "auto":
        fields["max_age"] = USUAL_STALENESS if max_staleness is None else max_staleness
    return fields


def refusal(text: str) -> VideoOptionError:
    """The error for an option that cannot be had."""
    return VideoOptionError(f"{text}.", context="video_processing")


def refuse(reason: str, **options: Any) -> None:
    """Raises for the first option that was given; never is one ignored.

    Raises:
        VideoOptionError: an option is not None.
    """
    for name, value in options.items():
        if value is not None:
            raise refusal(f"{name} cannot be used: {reason}")


def read_sources(
    references: SourceLike | Sequence[SourceLike],
    properties: Mapping[str, float] | Sequence[Any] | None,
    max_pixels: int,
) -> list[VideoSource]:
    """The sources behind one reference or a list, each with its properties.

    Raises:
        VideoOptionError: none, or a list of properties of another length.
        VideoSourceError: a reference cannot be meant.
    """
    if isinstance(references, (str, int, Path, VideoSource)):
        references = [references]
    if not references:
        raise refusal("video_reference is an empty list")
    if properties is None or isinstance(properties, Mapping):
        properties = [properties] * len(references)
    if len(properties) != len(references):
        raise refusal(
            f"video_source_properties has {len(properties)} entries for {len(references)} sources"
        )
    return [
        source_of(reference, max_pixels=max_pixels, properties=own)
        for reference, own in zip(references, properties, strict=True)
    ]


def video_options(**fields: Any) -> VideoOptions:
    """`VideoOptions` of these fields; `VideoOptionError` for a value that is out of range."""
    try:
        return VideoOptions(**fields)
    except ValueError as error:
        raise refusal(str(error)) from error


def write_trace(profiler: ChromeTraceProfiler, folder: Path) -> None:
    """Writes the trace to a folder, beside those that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    number, path = 0, folder / "trace.json"
    while path.exists():
        number += 1
        path = folder / f"trace-{number}.json"
    profiler.write_trace(path)


def _chosen(name: str, value: Any, known: Any, normalise: Any) -> str | None:
    if value is None:
        return None
    text = value.value if isinstance(value, Enum) else value
    chosen = normalise(text) if isinstance(text, str) else None
    if chosen not in known:
        raise refusal(f"{name} is one of {', '.join(known)}, got {text!r}")
    return chosen

"""What `weftlens run` is given: images, folders and parameters, held against the workflow's inputs.
Opens no image.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from execution_engine.definition.references import did_you_mean
from workflows.interface import Interface

IMAGE_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".ppm", ".pgm"}
)


class UsageError(Exception):
    """The command was called in a way that cannot be meant; the text is for the user."""


def parse_parameters(texts: Sequence[str], interface: Interface) -> dict[str, Any]:
    """Values by input name from `name=value` texts; a value is JSON, or else the text itself.

    Raises:
        UsageError: no `=`, a name given twice, or no such input.
    """
    known = [item.name for item in interface.inputs]
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--param takes NAME=VALUE, got '{text}'")
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"--param {name}: the workflow has no input '{name}'; it has "
                f"{', '.join(known) or 'none'}{f' ({hint})' if hint else ''}"
            )
        if name in values:
            raise UsageError(f"--param {name} is given twice")
        values[name] = _json_or_text(value)
    return values


def choose_image_input(
    interface: Interface, asked: str | None, images_given: bool, parameters: Sequence[str]
) -> str | None:
    """Name of the input the images go to; None when the workflow needs none.

    Args:
        interface: the inputs of the workflow.
        asked: the name the user gave.
        images_given: whether images were given at all.
        parameters: inputs that have their value already.

    Raises:
        UsageError: no such image input, several to choose from, or images are missing or
            unwanted.
    """
    names = [item.name for item in interface.image_inputs]
    open_names = [name for name in names if name not in parameters]
    shown = ", ".join(names) or "none"
    if asked is not None:
        if asked not in names:
            raise UsageError(f"--input {asked}: no such image input; the workflow has {shown}")
        if asked in parameters:
            raise UsageError(f"input '{asked}' is given by --param and by --input")
        if not images_given:
            raise UsageError(f"--input {asked}: give the images with --image FILE")
        return asked
    if not images_given:
        if open_names:
            raise UsageError(
                f"the workflow needs an image for '{open_names[0]}'; give --image FILE"
            )
        return None
    if not open_names:
        raise UsageError(f"images were given, but the workflow takes none (image inputs: {shown})")
    if len(open_names) > 1:
        raise UsageError(
            f"the workflow has several image inputs ({', '.join(open_names)}); say which one the "
            "images go to with --input NAME, and give the others with --param NAME=FILE"
        )
    return open_names[0]


def find_images(paths: Sequence[Path]) -> list[Path]:
    """The images behind paths: files as given, folders as their image files by name.

    Raises:
        UsageError: a folder holds no image.
    """
    images: list[Path] = []
    for path in paths:
        if not path.is_dir():
            images.append(path)
            continue
        inside = sorted(item for item in path.iterdir() if item.suffix.lower() in IMAGE_SUFFIXES)
        if not inside:
            raise UsageError(f"the folder '{path}' holds no images")
        images += inside
    return images


def file_stems(images: Sequence[Path], unwanted: Sequence[str] = ()) -> list[str]:
    """One name for the files of each image: its name without suffix, numbered when it repeats or
    is among the `unwanted`.
    """
    taken = {name.casefold() for name in unwanted}
    stems = []
    for image in images:
        stem, number = image.stem, 1
        while stem.casefold() in taken:
            number += 1
            stem = f"{image.stem}-{number}"
        taken.add(stem.casefold())
        stems.append(stem)
    return stems


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or JSON that Python does not read
        return text

"""Writes a model package: the counterpart of `loader` for exports and for weights that describe
nothing themselves."""

from __future__ import annotations

import shutil
from pathlib import Path

from inference_models.errors import ModelNotFoundError
from inference_models.packages.loader import CONFIG_FILE, package_from_config
from inference_models.packages.model_config import ModelConfig
from inference_models.packages.package import ModelPackage


def write_package(
    directory: Path, config: ModelConfig, weights: Path, *, link: bool = False
) -> ModelPackage:
    """Makes a folder that is a model package and returns that package.

    Args:
        directory: the folder; made when missing, its `model_config.json` is replaced.
        config: a complete configuration; `weights` in it is set to the name of the file.
        weights: the weights file, copied into the folder unless it lies there already.
        link: put a symbolic link to the weights into the folder in place of a copy.

    Raises:
        ModelNotFoundError: the weights file is missing.
        CorruptedModelPackageError: the configuration is incomplete.
    """
    if not weights.is_file():
        raise ModelNotFoundError(f"no weights at {weights}: no such file")
    complete = config.model_copy(update={"weights": weights.name})
    package_from_config(complete, weights)
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / weights.name
    if target.resolve() != weights.resolve():
        target.unlink(missing_ok=True)
        if link:
            target.symlink_to(weights.resolve())
        else:
            shutil.copyfile(weights, target)
    text = complete.model_dump_json(
        indent=2, by_alias=True, exclude_none=True, exclude_defaults=True
    )
    (directory / CONFIG_FILE).write_text(text + "\n", encoding="utf-8")
    return package_from_config(complete, target, location=directory)

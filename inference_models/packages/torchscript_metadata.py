"""Reads the text files stored in a TorchScript archive. Needs no torch and unpickles nothing."""

from __future__ import annotations

import zipfile
from pathlib import Path

from inference_models.errors import CorruptedModelPackageError

_MAX_TEXT_BYTES = 16 * 1024 * 1024


def read_torchscript_texts(path: Path) -> dict[str, str]:
    """Content of the extra files of a TorchScript archive by name (`torch.jit.save(...,
    _extra_files=...)`).

    Raises:
        CorruptedModelPackageError: the file is no TorchScript archive.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if "/extra/" in name]
            if not any("/code/" in name for name in archive.namelist()):
                raise CorruptedModelPackageError(
                    f"{path} holds no TorchScript code: expected a file written by torch.jit.save",
                    hint="a checkpoint of weights is loaded by the family that trained it",
                )
            texts: dict[str, str] = {}
            for name in names:
                if archive.getinfo(name).file_size <= _MAX_TEXT_BYTES:
                    key = name.split("/extra/", 1)[1]
                    texts[key] = archive.read(name).decode("utf-8", errors="replace")
            return texts
    except (zipfile.BadZipFile, OSError) as error:
        raise CorruptedModelPackageError(f"{path} is not a TorchScript file: {error}") from error

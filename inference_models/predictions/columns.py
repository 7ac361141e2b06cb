"""Rows of columns: what all predictions with one row an object share. Knows no kind of prediction.

Columns are numpy arrays or torch tensors, all of one kind; torch is recognised without being
imported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from inference_models.errors import InferenceModelsError
from inference_models.masks.carrier import InstanceMasks, Rows, Size, checked_size, row_index

if TYPE_CHECKING:
    import torch

Array: TypeAlias = "npt.NDArray[Any] | torch.Tensor"


class PredictionError(InferenceModelsError, ValueError):
    """The parts of a prediction contradict each other."""

    code = "invalid_prediction"


@dataclass(frozen=True, slots=True)
class Column:
    """The form of one column.

    Attributes:
        name: field of the prediction.
        dtype: name of the element type, the same in numpy and torch.
        tail: lengths of the axes behind the rows; None for one that may have any length.
        optional: whether the whole column may be missing.
    """

    name: str
    dtype: str
    tail: tuple[int | None, ...] = ()
    optional: bool = False


def is_tensor(value: object) -> bool:
    """Whether a value is a torch tensor; does not import torch."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "device")


def as_array(value: Any) -> npt.NDArray[Any]:
    """A tensor or array as numpy array on the host."""
    if not is_tensor(value):
        return np.asarray(value)
    array: npt.NDArray[Any] = value.detach().cpu().numpy()
    return array


def as_tensor(value: Any, device: torch.device | str) -> Any:
    """A tensor or array as tensor on `device`. Columns without a torch type (text, objects) stay as
    they are."""
    import torch

    if is_tensor(value):
        return value.to(device)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return array
    # torch shares no read-only memory.
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)


class ColumnRows:
    """Behaviour of frozen dataclasses whose fields are columns of n rows.

    Subclasses list their columns in `COLUMNS`; the first is never optional. Fields they may have
    beside these: `masks` (an `InstanceMasks` with a mask a row), `data` (further columns by name),
    `metadata` (what is known of the whole), `image_size` and tables shared by all rows.
    """

    __slots__ = ()
    COLUMNS: ClassVar[tuple[Column, ...]] = ()

    # What every such prediction has.
    image_size: Size
    data: Mapping[str, Array]
    metadata: Mapping[str, Any]

    def __post_init__(self) -> None:
        _set(self, "image_size", checked_size("image_size", self.image_size))
        kinds = set()
        count = -1
        for column in self.COLUMNS:
            value = getattr(self, column.name)
            if value is None and column.optional:
                continue
            value = _coerced(value, column, type(self).__name__)
            count = len(value) if count < 0 else count
            if len(value) != count:
                raise PredictionError(
                    f"{type(self).__name__}.{column.name} must have {count} rows like "
                    f"{self.COLUMNS[0].name}, got {len(value)}"
                )
            kinds.add(is_tensor(value))
            _set(self, column.name, value)
        if len(kinds) > 1:
            raise PredictionError(
                f"columns of {type(self).__name__} must be all numpy arrays or all torch tensors"
            )
        _set(self, "data", dict(self.data))
        _set(self, "metadata", dict(self.metadata))
        for name, value in self.data.items():
            if len(value) != count:
                raise PredictionError(
                    f"{type(self).__name__}.data[{name!r}] must have {count} rows, got {len(value)}"
                )

    def __len__(self) -> int:
        return len(getattr(self, self.COLUMNS[0].name))

    def __getitem__(self, rows: Rows) -> Self:
        return self.select(rows)

    def __iter__(self) -> Iterator[Self]:
        """The rows, each as a prediction of one row."""
        return (self.select([index]) for index in range(len(self)))

    @property
    def device(self) -> str:
        """Where the columns live: "numpy", or the name of a torch device."""
        first = getattr(self, self.COLUMNS[0].name)
        return str(first.device) if is_tensor(first) else "numpy"

    def columns(self) -> dict[str, Array]:
        """The columns that are there, by name, those of `data` last."""
        present = {column.name: getattr(self, column.name) for column in self.COLUMNS}
        return {**{k: v for k, v in present.items() if v is not None}, **self.data}

    def select(self, rows: Rows) -> Self:
        """The rows of a boolean mask (n,), of integers (in that order, repeats allowed) or of a
        slice.

        Raises:
            MaskError: a boolean mask does not have n entries.
            IndexError: a row does not exist.
        """
        index = row_index(as_array(rows) if is_tensor(rows) else rows, len(self))
        return self._mapped(lambda value: _taken(value, index), lambda masks: masks.select(index))

    def to_numpy(self) -> Self:
        """The same rows with numpy columns."""
        return self._mapped(as_array, lambda masks: masks)

    def to_torch(self, device: torch.device | str = "cpu") -> Self:
        """The same rows with torch columns on `device`; masks stay what they are, crops on the
        host.

        Raises:
            ModuleNotFoundError: torch is not installed.
        """
        return self._mapped(lambda value: as_tensor(value, device), lambda masks: masks)

    def to(self, device: torch.device | str) -> Self:
        """The same rows on a torch device, or with numpy columns for "numpy"."""
        return self.to_numpy() if device == "numpy" else self.to_torch(device)

    def replace(self, **fields: Any) -> Self:
        """The same prediction with other values of the named fields, checked like new ones."""
        return dataclasses.replace(self, **fields)  # type: ignore[type-var]

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts, in order.

        Parts without rows bring no rows but keep their columns alive: an optional column is there
        when any part has it. Masks of one image that live on different grids meet on the image's
        own pixels, by nearest neighbour. Metadata stays where all parts that have an entry agree.

        Raises:
            PredictionError: there are no parts, images or class tables differ, or a part with rows
                lacks a column that another one has.
        """
        if not parts:
            raise PredictionError(f"{cls.__name__}.concat needs at least one part")
        first = next((part for part in parts if len(part)), parts[0])
        filled = [part for part in parts if len(part)] or [first]
        shared = {
            field.name: getattr(first, field.name)
            for field in dataclasses.fields(cls)  # type: ignore[arg-type]
            if field.name
            not in {"masks", "data", "metadata"} | {column.name for column in cls.COLUMNS}
        }
        for part in parts:
            for name, value in shared.items():
                other = getattr(part, name)
                # A part without rows need not know the classes.
                if other != value and not (len(part) == 0 and other is None):
                    raise PredictionError(
                        f"cannot join {cls.__name__} of different {name}: {value!r:.80} and "
                        f"{other!r:.80}"
                    )
        fields: dict[str, Any] = dict(shared)
        for column in cls.COLUMNS:
            fields[column.name] = _joined(
                column.name, [(part, getattr(part, column.name)) for part in parts], filled
            )
        names = dict.fromkeys(name for part in parts for name in part.data)
        fields["data"] = {
            name: _joined(name, [(part, part.data.get(name)) for part in parts], filled)
            for name in names
        }
        fields["metadata"] = _agreed([part.metadata for part in parts])
        if hasattr(first, "masks"):
            fields["masks"] = _joined_masks([part.masks for part in filled])  # type: ignore[attr-defined]
        return cls(**fields)

    def _mapped(self, column: Any, masks: Any) -> Self:
        fields = {
            entry.name: None if (value := getattr(self, entry.name)) is None else column(value)
            for entry in self.COLUMNS
        }
        fields["data"] = {name: column(value) for name, value in self.data.items()}
        if hasattr(self, "masks"):
            fields["masks"] = masks(self.masks)
        return self.replace(**fields)


def _set(target: object, name: str, value: object) -> None:
    object.__setattr__(target, name, value)


def _coerced(value: Any, column: Column, owner: str) -> Any:
    if is_tensor(value):
        import torch

        value = value.to(getattr(torch, column.dtype))
    else:
        value = np.asarray(value, column.dtype)
    shape = tuple(value.shape)
    fits = len(shape) == 1 + len(column.tail) and all(
        wanted in (None, length) for wanted, length in zip(column.tail, shape[1:], strict=True)
    )
    if not fits:
        tail = "".join(f", {'k' if length is None else length}" for length in column.tail)
        raise PredictionError(f"{owner}.{column.name} must be (n{tail or ','}), got shape {shape}")
    return value


def _taken(value: Any, index: npt.NDArray[np.int64]) -> Any:
    if is_tensor(value):
        import torch

        return value[torch.from_numpy(index).to(value.device)]
    return np.asarray(value)[index]


def _joined(name: str, values: list[tuple[Any, Any]], filled: list[Any]) -> Any:
    """One column of all parts: of those with rows, or of any that has it when none has rows."""
    present = [value for _, value in values if value is not None]
    if not present:
        return None
    owners = [value for part, value in values if any(part is one for one in filled)]
    if len(filled[0]) == 0:
        return present[0]
    if any(value is None for value in owners):
        raise PredictionError(
            f"cannot join predictions of which only some have the column {name!r}"
        )
    tails = {tuple(value.shape[1:]) for value in owners if hasattr(value, "shape")}
    if len(tails) > 1:
        raise PredictionError(f"cannot join columns {name!r} whose rows have the shapes {tails}")
    if any(is_tensor(value) for value in owners):
        import torch

        device = next(value.device for value in owners if is_tensor(value))
        return torch.cat([as_tensor(value, device) for value in owners])
    return np.concatenate(owners)


def _agreed(parts: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The entries on which all parts that have them agree."""
    agreed: dict[str, Any] = {}
    for name in dict.fromkeys(name for entries in parts for name in entries):
        first, *others = (entries[name] for entries in parts if name in entries)
        if all(np.array_equal(first, other) for other in others):
            agreed[name] = first
    return agreed


def _joined_masks(masks: list[InstanceMasks]) -> InstanceMasks:
    if len({part.mask_size for part in masks}) > 1:
        masks = [part.on_image_grid() for part in masks]
    return InstanceMasks.concat(masks)

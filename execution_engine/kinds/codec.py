"""What the engine can do with a value it does not know: the `KindCodec` contract and the registry
of codecs.

No codec for a concrete prediction type may live here: those come from plug-ins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from execution_engine.errors import ExecutionEngineRuntimeError
from execution_engine.kinds.kind import Kind
from execution_engine.size_limits import NO_LIMITS, SizeLimits


class KindCodec:
    """How values of one kind, held in one Python type, are read, written and looked into.

    A plug-in subclasses this for each (kind, Python type) and overrides what applies. The engine
    asks `offers` before it calls a method; one that is not overridden raises `NotImplementedError`.

    Attributes:
        kind: name of the kind.
        python_type: dotted path of the class of the values
            (`supervision.detection.core.Detections`), or "" for a codec that looks at the value
            only when asked to serialise or deserialise. Given as text so that the library of that
            class need not be imported until such a value exists.
    """

    kind: str = "*"
    python_type: str = ""

    def offers(self, name: str) -> bool:
        """Whether this codec overrides the method `name`."""
        return getattr(type(self), name) is not getattr(KindCodec, name)

    def serialise(self, value: Any) -> Any:
        """JSON-compatible form of the value. Raises any exception when the value is not of this
        kind.
        """
        raise NotImplementedError

    def deserialise(self, name: str, value: Any, context: DecodingContext) -> Any:
        """Value from what a caller gave for the input `name`. Raises any exception when it is not
        of this kind.
        """
        raise NotImplementedError

    def to_root(self, value: Any) -> Any:
        """The value with every coordinate moved to the space of the workflow's input image; never
        in place.
        """
        raise NotImplementedError

    def length(self, value: Any) -> int:
        """Number of rows (detections) in the value."""
        raise NotImplementedError

    def column(self, value: Any, name: str) -> Sequence[Any] | np.ndarray:
        """One entry a row of the named property; raises `KeyError` when the property is not there.

        Numeric properties come as one-dimensional arrays; `xyxy` is (n, 4) float32 px.
        """
        raise NotImplementedError

    def select(self, value: Any, rows: np.ndarray) -> Any:
        """The rows of a boolean mask (n,) or of an integer array, as a new value with the same
        columns.
        """
        raise NotImplementedError

    def with_columns(self, value: Any, columns: Mapping[str, Any]) -> Any:
        """A new value with the named columns replaced (`xyxy`, `class_name`, `class_id`, ...)."""
        raise NotImplementedError

    def copy(self, value: Any) -> Any:
        """A value that shares no writable memory with this one."""
        raise NotImplementedError


class DecodingContext:
    """What deserialisers may ask of the host: how to load images, and the rate of frames without
    metadata.

    Args:
        image_codec: the host's policy for image sources.
        prevent_local_images_loading: refuse local files whatever the policy says.
        fps: frames a second of images that bring no video metadata; 0 when unknown.
        limits: how much all inputs of one run may hold.
    """

    __slots__ = ("_pixels", "fps", "image_codec", "limits", "prevent_local_images_loading")

    def __init__(
        self,
        image_codec: Any,
        prevent_local_images_loading: bool = False,
        fps: float = 0,
        limits: SizeLimits = NO_LIMITS,
    ) -> None:
        self.image_codec = image_codec
        self.prevent_local_images_loading = prevent_local_images_loading
        self.fps = fps
        self.limits = limits
        self._pixels = 0

    def for_run(self, fps: float) -> DecodingContext:
        """The same context for one run, whose frames come at a rate of their own."""
        return DecodingContext(
            self.image_codec, self.prevent_local_images_loading, fps, self.limits
        )

    def has_room_for(self, pixels: int) -> bool:
        """Counts the pixels of one more image; False when the run may not hold them."""
        self._pixels += pixels
        most = self.limits.max_total_pixels
        return most is None or self._pixels <= most


class FunctionCodec(KindCodec):
    """A codec made of plain functions, for kinds that only need reading and writing."""

    def __init__(
        self,
        kind: str,
        serialise: Callable[[Any], Any] | None = None,
        deserialise: Callable[[str, Any, DecodingContext], Any] | None = None,
    ) -> None:
        self.kind = kind
        self._serialise = serialise
        self._deserialise = deserialise

    def offers(self, name: str) -> bool:
        """Whether a function was given for `name`."""
        if name == "serialise":
            return self._serialise is not None
        if name == "deserialise":
            return self._deserialise is not None
        return False

    def serialise(self, value: Any) -> Any:
        """Calls the given function."""
        if self._serialise is None:
            raise NotImplementedError
        return self._serialise(value)

    def deserialise(self, name: str, value: Any, context: DecodingContext) -> Any:
        """Calls the given function."""
        if self._deserialise is None:
            raise NotImplementedError
        return self._deserialise(name, value, context)


class CodecRegistry:
    """All kinds and codecs that one engine knows; filled once, then only read.

    Codecs are found by kind (for reading and writing) and by the Python type of a value (for
    looking into it).
    """

    def __init__(self, kinds: Iterable[Kind] = (), codecs: Iterable[KindCodec] = ()) -> None:
        self._kinds: dict[str, Kind] = {}
        self._by_kind: dict[str, list[KindCodec]] = {}
        self._by_type_name: dict[str, KindCodec] = {}
        self._by_type: dict[type, KindCodec | None] = {}
        for kind in kinds:
            self.add_kind(kind)
        for codec in codecs:
            self.add_codec(codec)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Every kind by name."""
        return self._kinds

    def add_kind(self, kind: Kind) -> None:
        """Registers a kind; the same name twice keeps the first."""
        self._kinds.setdefault(kind.name, kind)

    def add_codec(self, codec: KindCodec) -> None:
        """Registers a codec for its kind and, when it names one, for its Python type (first come,
        first kept).
        """
        self._by_kind.setdefault(codec.kind, []).append(codec)
        if codec.python_type:
            self._by_type_name.setdefault(codec.python_type, codec)
            self._by_type.clear()

    def for_kind(self, kind: str) -> Sequence[KindCodec]:
        """The codecs registered for a kind, in the order of registration."""
        return self._by_kind.get(kind, ())

    def for_value(self, value: Any) -> KindCodec | None:
        """The codec that looks into values of this type (or of a base class), None for plain
        values.
        """
        value_type = type(value)
        try:
            return self._by_type[value_type]
        except KeyError:
            found = None
            for base in value_type.__mro__:
                found = self._by_type_name.get(f"{base.__module__}.{base.__qualname__}")
                if found is not None:
                    break
            self._by_type[value_type] = found
            return found

    def serialise(self, value: Any, kinds: Sequence[str]) -> Any:
        """JSON form of a value by the first of its kinds whose codec does not raise.

        A kind without a serialiser lets the value through in the form that the kind `*` gives it.

        Raises:
            ExecutionEngineRuntimeError: every declared kind has a serialiser and all of them refuse
                the value.
        """
        if value is None:
            return None
        refusals: list[str] = []
        for kind in kinds:
            codecs = self._serialisers(kind) or self._serialisers("*")
            if not codecs:
                return value
            for codec in codecs:
                try:
                    return codec.serialise(value)
                except Exception as error:  # the contract: any refusal means "try the next one"
                    refusals.append(f"{kind}: {error}")
        if not refusals:
            return value
        raise ExecutionEngineRuntimeError(
            f"A result of type {type(value).__name__} does not serialise as any of its declared "
            f"kinds ({'; '.join(refusals)}).",
            context="workflow_execution | outputs_construction",
        )

    def _serialisers(self, kind: str) -> list[KindCodec]:
        return [codec for codec in self.for_kind(kind) if codec.offers("serialise")]

"""Turns the outputs of an answer back into the objects a local run gives: images,
`sv.Detections`, dates and the like, by the kinds the workflow declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from execution_engine.definition.parser import describe
from execution_engine.images.codec import ImageCodec
from execution_engine.kinds.codec import CodecRegistry, DecodingContext
from workflows.remote.errors import ServerAnswerError
from workflows.remote.signature import ANYTHING, OutputShape, Signature

_WILDCARD = ANYTHING[0]


class ResultReader:
    """Reads the outputs of runs on one server.

    Args:
        codecs: how values of each kind are read.
        max_pixels: largest height times width of an image that is decoded.
        server: address of the server, for messages.
    """

    def __init__(self, codecs: CodecRegistry, max_pixels: int, server: str) -> None:
        self._codecs = codecs
        self._server = server
        # What a server sends is data: no answer makes this side read a file or an address.
        self._context = DecodingContext(
            ImageCodec(max_pixels=max_pixels), prevent_local_images_loading=True
        )

    def read(self, rows: Sequence[Mapping[str, Any]], signature: Signature) -> list[dict[str, Any]]:
        """The rows with Python objects in place of JSON.

        A kind without a reader, and values that nobody declared a kind for, stay JSON data; images
        in them become images all the same.

        Raises:
            ServerAnswerError: a value fits none of the kinds its output declares, or is no list
                where the output has one.
        """
        return [
            {
                str(name): self._output(str(name), value, signature.outputs.get(str(name)))
                for name, value in row.items()
            }
            for row in rows
        ]

    def _too_deep(self, name: str, error: RecursionError) -> ServerAnswerError:
        return ServerAnswerError(
            f"The output '{name}' of the server {self._server} is nested too deep to be read. "
            "`serialize=True` gives it as it came.",
            self._server,
            error,
        )

    def _other_shape(self, name: str, wanted: str, value: Any) -> ServerAnswerError:
        return ServerAnswerError(
            f"The output '{name}' of the server {self._server} must be {wanted}, got "
            f"{describe(value):.200}. `serialize=True` gives it as it came.",
            self._server,
        )

    def _output(self, name: str, value: Any, shape: OutputShape | None) -> Any:
        kinds = ANYTHING if shape is None else shape.kinds
        depth = None if shape is None else shape.depth
        try:
            if not isinstance(kinds, Mapping):
                return self._nested(name, value, kinds, depth)
            return self._object(name, value, kinds, depth)
        except RecursionError as error:
            raise self._too_deep(name, error) from error

    def _object(
        self, name: str, value: Any, kinds: Mapping[str, tuple[str, ...]], depth: int | None
    ) -> Any:
        """An object of all outputs of a step, at any depth."""
        if isinstance(value, list) and depth != 0:
            inner = None if depth is None else depth - 1
            return [
                self._object(f"{name}.[{index}]", item, kinds, inner)
                for index, item in enumerate(value)
            ]
        if value is None:
            return None
        if depth or not isinstance(value, Mapping):
            wanted = "a list" if depth else "an object of all outputs of its step"
            raise self._other_shape(name, wanted, value)
        return {
            member: self._nested(f"{name}.{member}", item, kinds.get(member, ANYTHING), 0)
            for member, item in value.items()
        }

    def _nested(self, name: str, value: Any, kinds: tuple[str, ...], depth: int | None) -> Any:
        if value is None:
            return None
        if depth:
            if not isinstance(value, list):
                raise self._other_shape(name, "a list", value)
            return [
                self._nested(f"{name}.[{index}]", item, kinds, depth - 1)
                for index, item in enumerate(value)
            ]
        done, result, refusals = self._by_kind(name, value, kinds)
        if done:
            return result
        if depth is None and isinstance(value, list):
            # How deep values lie is not known here: what is no value is a list of some.
            return [
                self._nested(f"{name}.[{index}]", item, kinds, None)
                for index, item in enumerate(value)
            ]
        raise ServerAnswerError(
            f"The output '{name}' of the server {self._server} does not read as any of its kinds "
            f"({'; '.join(refusals)}). `serialize=True` gives it as it came.",
            self._server,
        )

    def _by_kind(
        self, name: str, value: Any, kinds: tuple[str, ...]
    ) -> tuple[bool, Any, list[str]]:
        """(whether a kind takes the value, what it becomes, why the others do not)."""
        refusals: list[str] = []
        for kind in kinds or ANYTHING:
            readers = [
                codec for codec in self._codecs.for_kind(kind) if codec.offers("deserialise")
            ]
            if kind == _WILDCARD or not readers:
                return True, self._anything(name, value), refusals
            for codec in readers:
                try:
                    return True, codec.deserialise(name, _rooted(value), self._context), refusals
                except Exception as error:  # the contract: any refusal means "try the next one"
                    refusals.append(f"as {kind}: {str(error).rstrip('.')}")
        return False, None, refusals

    def _anything(self, name: str, value: Any) -> Any:
        """JSON data as it is, with the images in it as images."""
        if isinstance(value, list):
            return [self._anything(f"{name}.[{i}]", item) for i, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if value.get("type") == "base64" and isinstance(value.get("value"), str):
            done, image, _ = self._by_kind(name, value, ("image",))
            if done:
                return image  # anything else only looks like one
        return {key: self._anything(f"{name}.{key}", item) for key, item in value.items()}


def _rooted(value: Any) -> Any:
    """A prediction whose rows all name their root: the JSON of a result leaves out a root that is
    the parent, the JSON of an input means the input itself.
    """
    rows = value.get("predictions") if isinstance(value, dict) else None
    if not isinstance(rows, list):
        return value
    return {
        **value,
        "predictions": [
            {"root_parent_id": row["parent_id"], **row}
            if isinstance(row, dict) and "parent_id" in row
            else row
            for row in rows
        ],
    }

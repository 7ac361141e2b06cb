"""Compares the result of a case with the recorded one. Runs nothing.

A case's `compare` object holds tolerances (`atol`, `rtol`, `mean_tol`, `std_tol`, `thumb_tol`,
`lossy_extra`, `strict`) and `rules`: objects with a `path` (dots below `outputs` or `sequence`; `*`
is one component, `**` any number) and any of

    ignore, optional, type_only, regex, unordered, relabel (numbers one-to-one, such as tracker
    ids), polygon and min_iou (outlines as areas), any_shape (arrays), shape_only (images), and
    tolerances of its own.

Everywhere: ids made by a run are compared by their relation (`<uuid:N>`, one-to-one), numbers
within tolerances, 3 equals 3.0, errors by class, blocks and properties but never by message,
pictures by shape, statistics and thumbnail.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import numpy as np

from tests.conformance.normalise import summarise_array

Options = Mapping[str, Any]

_TOLERANCES = {
    "atol": 1e-3,
    "rtol": 1e-4,
    "mean_tol": 1.0,
    "std_tol": 2.0,
    "thumb_tol": 10.0,
    "lossy_extra": 5.0,
}
_INHERITED = frozenset({"atol", "rtol", "mean_tol", "std_tol", "thumb_tol", "any_shape"})
_RULES_OF_ALL_CASES: tuple[Options, ...] = (
    # The machine's clock; frame times that a case gives are seen through the outputs that use them.
    {"path": "**.video_metadata", "optional": True},
    {"path": "**.video_metadata.frame_timestamp", "ignore": True},
    {"path": "**.video_metadata.*", "optional": True},
    {"path": "**.$image.lossy", "ignore": True},
)
_MASKED_ID = re.compile(r"<uuid:\d+>")
_FARTHEST_POLYGON = 5000
_LEAST_POLYGON_IOU = 0.9


class Difference(Exception):
    """The first place where a result differs; the text says where and how."""


def first_difference(case: Mapping[str, Any], result: Mapping[str, Any]) -> str | None:
    """Where the result of a case differs from what is right, None when it fits `expect` or an
    alternative.
    """
    found = _difference(case, result, case["expect"])
    if found is None:
        return None
    for alternative in case.get("alternatives", ()):
        if _difference(case, result, alternative) is None:
            return None
    return found


def _difference(
    case: Mapping[str, Any], result: Mapping[str, Any], expected: Mapping[str, Any]
) -> str | None:
    comparison = Comparison(case.get("compare", {}))
    try:
        if "error" in expected:
            if "error" not in result:
                raise Difference(f"expected {expected['error']['class']}, but the run succeeded")
            comparison.error(expected["error"], result["error"], "error")
            return None
        if "error" in result:
            error = result["error"]
            raise Difference(f"unexpected {error['class']}: {error.get('message', '')}")
        key = "sequence" if "sequence" in expected else "outputs"
        comparison.value(expected[key], result.get(key), f".{key}")
        if "files" in expected:
            comparison.value(expected["files"], result.get("files", []), ".files")
    except Difference as difference:
        return str(difference)
    return None


class Comparison:
    """One comparison of two trees; remembers which id and which label stands for which.

    Args:
        settings: the `compare` object of a case.
    """

    def __init__(self, settings: Options) -> None:
        self._settings: dict[str, Any] = {**_TOLERANCES, **settings}
        rules = [*_RULES_OF_ALL_CASES, *settings.get("rules", ())]
        self._rules = [(_path_pattern(rule["path"]), rule) for rule in rules]
        self._forward: dict[str, str] = {}
        self._backward: dict[str, str] = {}

    def value(self, expected: Any, got: Any, path: str, inherited: Options | None = None) -> None:
        """Raises `Difference` when `got` is not what `expected` says, here or anywhere below."""
        options = {key: item for key, item in (inherited or {}).items() if key in _INHERITED}
        options.update(self._options(path))
        if options.get("ignore"):
            return
        if options.get("relabel") and _is_number(expected) and _is_number(got):
            self._pair(f"<label:{expected}>", f"<label:{got}>'", path, "label")
        elif expected is None and self._is_known_size(path, got):
            return
        elif options.get("regex"):
            if not isinstance(got, str) or not re.search(options["regex"], got):
                raise Difference(f"{path}: {got!r} does not match {options['regex']!r}")
        elif options.get("type_only"):
            if _type_name(expected) != _type_name(got):
                raise Difference(f"{path}: type {_type_name(got)} != {_type_name(expected)}")
        elif isinstance(expected, dict):
            self._object(expected, got, path, options)
        elif isinstance(expected, list):
            if path.endswith(".points") or options.get("polygon"):
                _compare_polygons(expected, got, path, options.get("min_iou", _LEAST_POLYGON_IOU))
            else:
                self._list(expected, got, path, options)
        elif isinstance(expected, str):
            self._text(expected, got, path)
        elif isinstance(expected, (int, float)):
            self._number(expected, got, path, options)
        elif expected != got:
            raise Difference(f"{path}: expected {expected!r}, got {_short(got)}")

    def error(self, expected: Options, got: Options, path: str) -> None:
        """Compares class, named blocks, named properties and status code of two errors."""
        names = expected["class"]
        classes = names if isinstance(names, list) else [names]
        if got["class"] not in classes:
            message = str(got.get("message", ""))[:160]
            raise Difference(f"{path}: {got['class']} ({message}), expected {'/'.join(classes)}")
        for key in ("blocks", "properties"):
            wanted, found = expected.get(key), got.get(key, [])
            if wanted and sorted(map(str, wanted)) != sorted(map(str, found)):
                raise Difference(f"{path}: {key} {found}, expected {wanted}")
        if "status_code" in expected and expected["status_code"] != got.get("status_code"):
            raise Difference(
                f"{path}: status {got.get('status_code')} != {expected['status_code']}"
            )

    def _options(self, path: str) -> dict[str, Any]:
        options: dict[str, Any] = {}
        for pattern, rule in self._rules:
            if pattern.match(path):
                options.update(rule)
        return options

    def _is_known_size(self, path: str, got: Any) -> bool:
        """The recorded system loses the image size of some results; to know it is no difference."""
        known = re.search(r"\.image\.(width|height)$", path) and isinstance(got, (int, float))
        return bool(known) and not self._settings.get("strict")

    def _pair(self, left: str, right: str, path: str, what: str) -> None:
        if (
            self._forward.setdefault(left, right) != right
            or self._backward.setdefault(right, left) != left
        ):
            raise Difference(f"{path}: {what} relation broken ({left} and {right})")

    def _text(self, expected: str, got: Any, path: str) -> None:
        ids = _MASKED_ID.findall(expected)
        if not ids:
            if expected != got:
                raise Difference(f"{path}: expected {_short(expected)}, got {_short(got)}")
            return
        if not isinstance(got, str):
            raise Difference(f"{path}: expected an id {expected!r}, got {got!r}")
        pattern = "(.+)".join(re.escape(part) for part in _MASKED_ID.split(expected))
        match = re.fullmatch(pattern, got)
        if match is None:
            raise Difference(f"{path}: id {got!r} does not look like {expected!r}")
        for masked, found in zip(ids, match.groups(), strict=True):
            self._pair(masked, found, path, "id")

    def _number(self, expected: float, got: Any, path: str, options: Options) -> None:
        fits = isinstance(got, (int, float)) and isinstance(expected, bool) == isinstance(got, bool)
        if fits and isinstance(expected, bool):
            fits = expected == got
        if fits:
            absolute = options.get("atol", self._settings["atol"])
            relative = options.get("rtol", self._settings["rtol"])
            fits = abs(expected - got) <= absolute + relative * abs(expected)
        if not fits:
            raise Difference(f"{path}: expected {expected!r}, got {_short(got)}")

    def _object(self, expected: Options, got: Any, path: str, options: Options) -> None:
        if "$array" in expected:
            self._array(expected["$array"], got, path, options)
            return
        if "$bytes" in expected:
            if not isinstance(got, str) and not (isinstance(got, dict) and "$bytes" in got):
                raise Difference(f"{path}: expected bytes, got {_short(got)}")
            return
        if not isinstance(got, dict):
            keys = sorted(expected)[:6]
            raise Difference(f"{path}: expected an object with {keys}, got {_short(got)}")
        for key in expected.keys() - got.keys():
            if not self._may_be_missing(f"{path}.{key}"):
                raise Difference(f"{path}: key {key!r} is missing")
        for key in got.keys() - expected.keys():
            if not self._may_be_missing(f"{path}.{key}"):
                raise Difference(f"{path}: unexpected key {key!r}")
        for key, item in expected.items():
            if key not in got:
                continue
            if key == "$image":
                self._image(item, got[key], path, options)
            elif key == "$error":
                self.error(item, got[key], path)
            else:
                self.value(item, got[key], f"{path}.{key}", options)

    def _may_be_missing(self, path: str) -> bool:
        options = self._options(path)
        return bool(options.get("optional") or options.get("ignore"))

    def _list(self, expected: Sequence[Any], got: Any, path: str, options: Options) -> None:
        if isinstance(got, dict) and "data" in got.get("$array", ()):
            got = got["$array"]["data"]
        if not isinstance(got, list):
            raise Difference(f"{path}: expected a list of {len(expected)}, got {_short(got)}")
        if len(expected) != len(got):
            raise Difference(f"{path}: {len(got)} elements, expected {len(expected)}")
        if options.get("unordered"):
            self._unordered(expected, got, path, options)
            return
        for position, (left, right) in enumerate(zip(expected, got, strict=True)):
            self.value(left, right, f"{path}.{position}", options)

    def _unordered(
        self, expected: Sequence[Any], got: Sequence[Any], path: str, options: Options
    ) -> None:
        """Every expected element takes the first free one that fits it."""
        free = list(range(len(got)))
        for position, item in enumerate(expected):
            first: Difference | None = None
            for candidate in free:
                known = dict(self._forward), dict(self._backward)
                try:
                    self.value(item, got[candidate], f"{path}.{position}", options)
                except Difference as difference:
                    self._forward, self._backward = known
                    first = first or difference
                else:
                    free.remove(candidate)
                    break
            else:
                raise first or Difference(f"{path}.{position}: no partner in the unordered list")

    def _array(self, expected: Options, got: Any, path: str, options: Options) -> None:
        if isinstance(got, list):
            try:
                got = summarise_array(np.array(got))
            except ValueError as error:
                raise Difference(f"{path}: a ragged list, expected an array") from error
        if not isinstance(got, dict) or "$array" not in got:
            raise Difference(f"{path}: expected an array, got {_short(got)}")
        found = got["$array"]
        if not options.get("any_shape") and expected["shape"] != found["shape"]:
            raise Difference(f"{path}: array shape {found['shape']} != {expected['shape']}")
        for key in ("data", "mean", "std", "min", "max"):
            if key in expected:
                self.value(expected[key], found.get(key), f"{path}.{key}", options)

    def _image(self, expected: Options, got: Any, path: str, options: Options) -> None:
        settings = {**self._settings, **options}
        if not isinstance(got, dict) or "shape" not in got:
            raise Difference(f"{path}: expected an image, got {_short(got)}")
        if expected["shape"][:2] != got["shape"][:2]:
            raise Difference(f"{path}: image shape {got['shape']} != {expected['shape']}")
        if settings.get("shape_only"):
            return
        lossy = got.get("lossy") or expected.get("lossy")
        extra = settings["lossy_extra"] if lossy else 0.0
        for key, tolerance in (
            ("mean", settings["mean_tol"] + extra),
            ("std", settings["std_tol"] + 2 * extra),
        ):
            pairs = zip(_three(expected[key]), _three(got[key]), strict=True)
            worst = max(abs(left - right) for left, right in pairs)
            if worst > tolerance:
                raise Difference(
                    f"{path}: image {key} {got[key]} differs by {worst:.2f} from {expected[key]}"
                )
        apart = np.abs(_thumbnail(expected) - _thumbnail(got))
        average, high = float(apart.mean()), float(np.percentile(apart, 99))
        limit = settings["thumb_tol"]
        if average > limit / 5 + extra or high > limit * 2 + 3 * extra:
            raise Difference(
                f"{path}: image pixels differ (thumbnail mean {average:.2f}, 99th percentile "
                f"{high:.0f})"
            )


def _path_pattern(path: str) -> re.Pattern[str]:
    parts = []
    for part in path.split("."):
        if part == "*":
            parts.append(r"\.[^.]+")
        elif part == "**":
            parts.append(r"(?:\.[^.]+)*")
        else:
            parts.append(r"\." + re.escape(part).replace(r"\*", "[^.]*"))
    return re.compile(f"^{''.join(parts)}$")


def _compare_polygons(expected: Sequence[Any], got: Any, path: str, least: float) -> None:
    """Outlines as filled areas: the chain of points may differ, the overlap must not."""
    try:
        left, right = _points(expected), _points(got)
    except (TypeError, ValueError, KeyError) as error:
        raise Difference(f"{path}: expected a polygon, got {_short(got)}") from error
    if len(left) == 0 or len(right) == 0:
        if len(left) != len(right):
            raise Difference(f"{path}: polygon with {len(right)} points, expected {len(left)}")
        return
    low = np.minimum(left.min(0), right.min(0)) - 2
    width, height = np.maximum(left.max(0), right.max(0)) - low + 3
    if max(width, height) > _FARTHEST_POLYGON:
        raise Difference(f"{path}: polygon far away from the expected one")
    masks = []
    for outline in (left, right):
        canvas = np.zeros((int(height), int(width)), np.uint8)
        cv2.fillPoly(canvas, [np.round(outline - low).astype(np.int32)], (1,))
        masks.append(canvas > 0)
    union = max(1, int((masks[0] | masks[1]).sum()))
    iou = int((masks[0] & masks[1]).sum()) / union
    if iou < least:
        raise Difference(f"{path}: polygon IoU {iou:.3f}")


def _points(outline: Sequence[Any]) -> np.ndarray:
    pairs = [
        (point["x"], point["y"]) if isinstance(point, dict) else tuple(point) for point in outline
    ]
    return np.array(pairs, float).reshape(-1, 2)


def _thumbnail(summary: Options) -> np.ndarray:
    encoded = np.frombuffer(base64.b64decode(summary["thumb"]), np.uint8)
    return np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR)).astype(int)


def _three(values: Sequence[float]) -> list[float]:
    return list(values) * 3 if len(values) == 1 else list(values)[:3]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _type_name(value: Any) -> str:
    return "number" if _is_number(value) and not isinstance(value, bool) else type(value).__name__


def _short(value: Any) -> str:
    return repr(value)[:90]

"""How each operation of the language is built: one function `(definition, site) -> step` each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from execution_engine.query_language.definitions import Operation
from execution_engine.query_language.operations import (
    classification,
    detections,
    images,
    numbers,
    renaming,
    sequences,
    text,
    values,
)
from execution_engine.query_language.site import Site, Step

OPERATION_BUILDERS: Final[Mapping[str, Callable[[Operation, Site], Step]]] = {
    "StringToLowerCase": text.lower_case,
    "StringToUpperCase": text.upper_case,
    "StringSubSequence": text.sub_sequence,
    "StringMatches": text.matches,
    "ToString": values.to_text,
    "ToBoolean": values.to_boolean,
    "LookupTable": values.look_up,
    "RandomNumber": values.random_number,
    "ConvertDictionaryToJSON": values.to_json,
    "TimestampToISOFormat": values.to_iso_format,
    "ToNumber": numbers.to_number,
    "NumberRound": numbers.round_number,
    "Multiply": numbers.multiply,
    "Divide": numbers.divide,
    "SequenceMap": sequences.map_elements,
    "SequenceApply": sequences.apply_to_elements,
    "SequenceLength": sequences.length,
    "SequenceElementsCount": sequences.count_elements,
    "SequenceJoin": sequences.join,
    "NumericSequenceAggregate": sequences.aggregate_numbers,
    "SequenceAggregate": sequences.aggregate,
    "DetectionsPropertyExtract": detections.property_of_all,
    "ExtractDetectionProperty": detections.property_of_one,
    "DetectionsFilter": detections.keep_where,
    "DetectionsSelection": detections.select_one,
    "SortDetections": detections.sort,
    "DetectionsOffset": detections.grow,
    "DetectionsShift": detections.shift,
    "DetectionsRename": renaming.rename_classes,
    "DetectionsToDictionary": detections.to_dictionary,
    "PickDetectionsByParentClass": detections.pick_by_parent_class,
    "ClassificationPropertyExtract": classification.property_of_classification,
    "ExtractImageProperty": images.property_of_image,
    "ExtractFrameMetadata": images.frame_metadata,
    "ConvertImageToJPEG": images.to_jpeg,
    "ConvertImageToBase64": images.to_base64,
}

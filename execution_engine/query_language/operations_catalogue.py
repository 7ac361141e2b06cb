"""Every operation of the language as data.

What an operation does is in the `operations` package.
"""

from __future__ import annotations

from typing import Final

from execution_engine.kinds.catalogue import (
    BAR_CODE_DETECTION_KIND,
    BOOLEAN_KIND,
    BYTES_KIND,
    CLASSIFICATION_PREDICTION_KIND,
    DETECTION_KIND,
    DICTIONARY_KIND,
    FLOAT_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    IMAGE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    INTEGER_KIND,
    KEYPOINT_DETECTION_PREDICTION_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    QR_CODE_DETECTION_KIND,
    RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND,
    SEMANTIC_SEGMENTATION_PREDICTION_KIND,
    STRING_KIND,
    TIMESTAMP_KIND,
    VIDEO_METADATA_KIND,
    WILDCARD_KIND,
)
from execution_engine.query_language.specification import (
    ANYTHING,
    BOOLEAN,
    CLASS_MAP,
    DICTIONARY,
    FLAG_OR_NAME,
    FLOAT,
    INTEGER,
    NUMBER,
    OPERATIONS,
    PERCENT_FROM_ONE,
    REGEX,
    STATEMENT_GROUP,
    TEXT,
    FieldSpec,
    OperationSpec,
    choice,
)

DETECTIONS_PROPERTIES: Final = (
    "confidence", "class_name", "x_min", "x_max", "y_min", "y_max", "size", "class_id", "center",
    "top_left", "top_right", "bottom_left", "bottom_right", "in_out", "path_deviation", "polygon",
    "time_in_zone", "tracker_id", "velocity", "speed", "smoothed_velocity", "smoothed_speed",
    "image_dimensions", "prediction_type", "keypoints_xy", "rect", "width", "height", "angle",
    "area_px", "area_converted",
)  # fmt: skip

ANY: Final = (WILDCARD_KIND,)
STRING: Final = (STRING_KIND,)
LIST: Final = (LIST_OF_VALUES_KIND,)
NUMBERS: Final = (INTEGER_KIND, FLOAT_KIND, FLOAT_ZERO_TO_ONE_KIND)
DETECTIONS: Final = (
    OBJECT_DETECTION_PREDICTION_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND,
    SEMANTIC_SEGMENTATION_PREDICTION_KIND,
    KEYPOINT_DETECTION_PREDICTION_KIND,
    QR_CODE_DETECTION_KIND,
    BAR_CODE_DETECTION_KIND,
)
_DETECTIONS_PROPERTY: Final = FieldSpec(
    "property_name", choice(*DETECTIONS_PROPERTIES), description="Property to read"
)

OPERATION_SPECS: Final[tuple[OperationSpec, ...]] = (
    OperationSpec("StringToLowerCase", "Turns text into lower case", STRING, STRING),
    OperationSpec("StringToUpperCase", "Turns text into upper case", STRING, STRING),
    OperationSpec(
        "LookupTable",
        "Replaces a value by its entry in a table; a value without entry is an error",
        ANY,
        ANY,
        (FieldSpec("lookup_table", DICTIONARY, description="Entry for each value"),),
    ),
    OperationSpec(
        "ToNumber",
        "Turns a value into a number; `int` cuts the fraction off",
        (STRING_KIND, BOOLEAN_KIND, *NUMBERS),
        NUMBERS,
        (FieldSpec("cast_to", choice("int", "float"), description="Type of the number"),),
    ),
    OperationSpec(
        "NumberRound",
        "Rounds a number, halves to the even neighbour",
        NUMBERS,
        NUMBERS,
        (FieldSpec("decimal_digits", INTEGER, description="Digits to keep after the point"),),
    ),
    OperationSpec(
        "SequenceMap",
        "Replaces each element by its entry in a table; an element without entry is an error",
        LIST,
        LIST,
        (FieldSpec("lookup_table", DICTIONARY, description="Entry for each element"),),
        compound=True,
        nested_input_kinds=ANY,
        nested_output_kinds=ANY,
    ),
    OperationSpec(
        "SequenceApply",
        "Applies operations to each element",
        LIST,
        LIST,
        (FieldSpec("operations", OPERATIONS, description="Operations for an element"),),
        compound=True,
        nested_input_kinds=ANY,
        nested_output_kinds=ANY,
    ),
    OperationSpec(
        "NumericSequenceAggregate",
        "Makes one number of a list of numbers",
        LIST,
        NUMBERS,
        (
            FieldSpec("function", choice("min", "max", "sum"), description="How to aggregate"),
            FieldSpec("neutral_value", ANYTHING, None, "Result for an empty list"),
        ),
    ),
    OperationSpec("ToString", "Turns a value into text", ANY, STRING),
    OperationSpec("ToBoolean", "Whether the value counts as true", ANY, (BOOLEAN_KIND,)),
    OperationSpec(
        "StringSubSequence",
        "Cuts a part out of text; by default everything but the last character",
        STRING,
        STRING,
        (
            FieldSpec("start", INTEGER, 0, "First position, negative to count from the end"),
            FieldSpec("end", INTEGER, -1, "Position after the last, negative from the end"),
        ),
    ),
    OperationSpec(
        "DetectionsPropertyExtract",
        "List with a property of each detection; anchor points are rounded to whole pixels",
        DETECTIONS,
        LIST,
        (_DETECTIONS_PROPERTY,),
    ),
    OperationSpec(
        "SequenceAggregate",
        "Picks one element of a list",
        LIST,
        ANY,
        (
            FieldSpec(
                "mode",
                choice("first", "last", "most_common", "least_common"),
                description="Which element",
            ),
        ),
    ),
    OperationSpec(
        "ExtractDetectionProperty",
        "Property of one detection, inside a filter",
        (DETECTION_KIND,),
        ANY,
        (_DETECTIONS_PROPERTY,),
    ),
    OperationSpec(
        "DetectionsFilter",
        "Keeps the detections for which a statement holds; the detection is the operand `_`",
        DETECTIONS,
        DETECTIONS,
        (FieldSpec("filter_operation", STATEMENT_GROUP, description="Condition to keep one"),),
        compound=True,
        nested_input_kinds=(DETECTION_KIND,),
        nested_output_kinds=(BOOLEAN_KIND,),
    ),
    OperationSpec(
        "DetectionsOffset",
        "Grows each box by half of the offset on each side, without clipping",
        DETECTIONS,
        DETECTIONS,
        (
            FieldSpec("offset_x", INTEGER, description="Growth of the width in px"),
            FieldSpec("offset_y", INTEGER, description="Growth of the height in px"),
        ),
    ),
    OperationSpec(
        "DetectionsShift",
        "Moves each box",
        DETECTIONS,
        DETECTIONS,
        (
            FieldSpec("shift_x", INTEGER, description="Move to the right in px"),
            FieldSpec("shift_y", INTEGER, description="Move down in px"),
        ),
    ),
    OperationSpec(
        "DetectionsRename",
        "Gives classes new names and ids",
        DETECTIONS,
        DETECTIONS,
        (
            FieldSpec(
                "class_map", CLASS_MAP, description="New name for each class, or a parameter's name"
            ),
            FieldSpec(
                "strict",
                FLAG_OR_NAME,
                True,
                "Whether the map must have every class (ids are renumbered), or a parameter's name",
            ),
            FieldSpec(
                "new_classes_id_offset", INTEGER, 1024, "First id of new classes when not strict"
            ),
        ),
    ),
    OperationSpec(
        "RandomNumber",
        "A random number, whatever the input",
        ANY,
        (FLOAT_KIND,),
        (
            FieldSpec("min_value", FLOAT, 0.0, "Least value"),
            FieldSpec("max_value", FLOAT, 1.0, "Greatest value"),
        ),
    ),
    OperationSpec(
        "StringMatches",
        "Whether a regular expression is found in text",
        STRING,
        (BOOLEAN_KIND,),
        (FieldSpec("regex", REGEX, description="Regular expression"),),
    ),
    OperationSpec(
        "ExtractImageProperty",
        "Measure of an image: width or height in px, their product, or width / height",
        (IMAGE_KIND,),
        (INTEGER_KIND, FLOAT_KIND),
        (
            FieldSpec(
                "property_name",
                choice("size", "height", "width", "aspect_ratio"),
                description="Measure to read",
            ),
        ),
    ),
    OperationSpec(
        "ExtractFrameMetadata",
        "Place of a frame in its video",
        (IMAGE_KIND, VIDEO_METADATA_KIND),
        (INTEGER_KIND, FLOAT_KIND, TIMESTAMP_KIND),
        (
            FieldSpec(
                "property_name",
                choice("frame_number", "frame_timestamp", "seconds_since_start"),
                description="What to read",
            ),
        ),
    ),
    OperationSpec(
        "SequenceLength",
        "Number of elements, detections or characters",
        (LIST_OF_VALUES_KIND, DICTIONARY_KIND, STRING_KIND, *DETECTIONS),
        (INTEGER_KIND,),
    ),
    OperationSpec(
        "SequenceElementsCount",
        "How often each element occurs, by its text",
        LIST,
        (DICTIONARY_KIND,),
    ),
    OperationSpec(
        "SequenceJoin",
        "Joins the texts of the elements, at most 1,000,000 characters",
        LIST,
        STRING,
        (FieldSpec("separator", TEXT, ", ", "Text between two elements"),),
    ),
    OperationSpec(
        "Multiply",
        "Multiplies a number",
        NUMBERS,
        NUMBERS,
        (FieldSpec("other", NUMBER, description="Factor"),),
    ),
    OperationSpec(
        "Divide",
        "Divides a number",
        NUMBERS,
        NUMBERS,
        (FieldSpec("other", NUMBER, description="Divisor"),),
    ),
    OperationSpec(
        "DetectionsSelection",
        "Keeps one detection, none of an empty set",
        DETECTIONS,
        DETECTIONS,
        (
            FieldSpec(
                "mode",
                choice("left_most", "right_most", "top_confidence", "first", "last"),
                description="Which detection",
            ),
        ),
    ),
    OperationSpec(
        "SortDetections",
        "Puts detections in order",
        DETECTIONS,
        DETECTIONS,
        (
            FieldSpec(
                "mode",
                choice(
                    "confidence", "x_min", "x_max", "y_min", "y_max", "size", "center_x", "center_y"
                ),
                description="Property to sort by",
            ),
            FieldSpec("ascending", BOOLEAN, True, "Whether the least comes first"),
        ),
    ),
    OperationSpec(
        "ClassificationPropertyExtract",
        "Property of a classification",
        (CLASSIFICATION_PREDICTION_KIND,),
        (STRING_KIND, LIST_OF_VALUES_KIND, FLOAT_ZERO_TO_ONE_KIND),
        (
            FieldSpec(
                "property_name",
                choice(
                    "top_class",
                    "top_class_confidence",
                    "top_class_confidence_single",
                    "all_classes",
                    "all_confidences",
                ),
                description="Property to read",
            ),
        ),
    ),
    OperationSpec(
        "ConvertImageToJPEG",
        "JPEG bytes of an image",
        (IMAGE_KIND,),
        (BYTES_KIND,),
        (FieldSpec("compression_level", PERCENT_FROM_ONE, 95, "JPEG quality, 1 to 100"),),
    ),
    OperationSpec("ConvertImageToBase64", "JPEG of an image as base64 text", (IMAGE_KIND,), STRING),
    OperationSpec(
        "DetectionsToDictionary",
        "Detections as the object they are in JSON",
        DETECTIONS,
        (DICTIONARY_KIND,),
    ),
    OperationSpec("ConvertDictionaryToJSON", "JSON text of an object", (DICTIONARY_KIND,), STRING),
    OperationSpec(
        "PickDetectionsByParentClass",
        "Keeps the detections of a class and those whose centre lies in a box of that class",
        DETECTIONS,
        DETECTIONS,
        (FieldSpec("parent_class", TEXT, description="Name of the class"),),
    ),
    OperationSpec("TimestampToISOFormat", "ISO-8601 text of a moment", (TIMESTAMP_KIND,), STRING),
)
OPERATIONS_BY_TYPE: Final = {spec.type: spec for spec in OPERATION_SPECS}

"""The kinds of the language by name. Data only; what they look like in JSON is in their codecs."""

from __future__ import annotations

from execution_engine.kinds.kind import Kind

WILDCARD_KIND = Kind(
    name="*",
    description="Anything",
    serialised_data_type="any",
    internal_data_type="Any",
)
IMAGE_KIND = Kind(
    name="image",
    description="An image",
    serialised_data_type="object",
    internal_data_type="WorkflowImageData",
)
VIDEO_METADATA_KIND = Kind(
    name="video_metadata",
    description="Where a frame comes from in a video",
    serialised_data_type="object",
    internal_data_type="VideoMetadata",
)
TIMESTAMP_KIND = Kind(
    name="timestamp",
    description="A moment in time",
    serialised_data_type="ISO-8601 string",
    internal_data_type="datetime",
)
ACTION_RECOGNITION_PREDICTION_KIND = Kind(
    name="action_recognition_prediction",
    description="Labelled segments of a video",
    serialised_data_type="list of objects",
    internal_data_type="list",
)
ROBOFLOW_MODEL_ID_KIND = Kind(
    name="roboflow_model_id",
    description="Id of a model",
    serialised_data_type="string",
    internal_data_type="str",
)
ROBOFLOW_PROJECT_KIND = Kind(
    name="roboflow_project",
    description="Id of a project",
    serialised_data_type="string",
    internal_data_type="str",
)
ROBOFLOW_SOLUTION_KIND = Kind(
    name="roboflow_solution",
    description="Id of a solution",
    serialised_data_type="string",
    internal_data_type="str",
)
ROBOFLOW_API_KEY_KIND = Kind(
    name="roboflow_api_key",
    description="API key of a platform",
    serialised_data_type="string",
    internal_data_type="str | None",
)
ROBOFLOW_MANAGED_KEY = Kind(
    name="roboflow_managed_key",
    description="API key that a platform keeps for the user",
    serialised_data_type="string",
    internal_data_type="str | None",
)
SECRET_KIND = Kind(
    name="secret",
    description="A value that is masked wherever it would be shown",
    serialised_data_type="string",
    internal_data_type="str",
)
FLOAT_ZERO_TO_ONE_KIND = Kind(
    name="float_zero_to_one",
    description="Number between 0 and 1",
    serialised_data_type="number",
    internal_data_type="float",
)
FLOAT_KIND = Kind(
    name="float",
    description="Number",
    serialised_data_type="number",
    internal_data_type="float",
)
INTEGER_KIND = Kind(
    name="integer",
    description="Whole number",
    serialised_data_type="integer",
    internal_data_type="int",
)
BOOLEAN_KIND = Kind(
    name="boolean",
    description="True or false",
    serialised_data_type="boolean",
    internal_data_type="bool",
)
STRING_KIND = Kind(
    name="string",
    description="Text",
    serialised_data_type="string",
    internal_data_type="str",
)
TOP_CLASS_KIND = Kind(
    name="top_class",
    description="Name of the most likely class",
    serialised_data_type="string",
    internal_data_type="str",
)
LANGUAGE_MODEL_OUTPUT_KIND = Kind(
    name="language_model_output",
    description="Text that a language model wrote",
    serialised_data_type="string",
    internal_data_type="str",
)
PREDICTION_TYPE_KIND = Kind(
    name="prediction_type",
    description="Name of a type of prediction",
    serialised_data_type="string",
    internal_data_type="str",
)
PARENT_ID_KIND = Kind(
    name="parent_id",
    description="Id of what a prediction was made on",
    serialised_data_type="string",
    internal_data_type="str",
)
INFERENCE_ID_KIND = Kind(
    name="inference_id",
    description="Id of one call of a model",
    serialised_data_type="string",
    internal_data_type="str",
)
LIST_OF_VALUES_KIND = Kind(
    name="list_of_values",
    description="List of values",
    serialised_data_type="array",
    internal_data_type="list",
)
DICTIONARY_KIND = Kind(
    name="dictionary",
    description="Object with named values",
    serialised_data_type="object",
    internal_data_type="dict",
)
BYTES_KIND = Kind(
    name="bytes",
    description="Raw bytes",
    serialised_data_type="base64 string",
    internal_data_type="bytes",
)
RGB_COLOR_KIND = Kind(
    name="rgb_color",
    description="A colour",
    serialised_data_type="array of 3 integers, or string",
    internal_data_type="tuple[int, int, int] | str",
)
POINT_KIND = Kind(
    name="point",
    description="A point (x, y)",
    serialised_data_type="array of 2 numbers",
    internal_data_type="tuple[float, float]",
)
LABELED_POINTS_KIND = Kind(
    name="labeled_points",
    description="Points marked positive or negative",
    serialised_data_type="array of objects",
    internal_data_type="list",
)
ZONE_KIND = Kind(
    name="zone",
    description="A polygon of at least three points (x, y)",
    serialised_data_type="array of pairs",
    internal_data_type="list",
)
CONTOURS_KIND = Kind(
    name="contours",
    description="Outlines found in an image",
    serialised_data_type="array",
    internal_data_type="list of int arrays",
)
NUMPY_ARRAY_KIND = Kind(
    name="numpy_array",
    description="Array of numbers",
    serialised_data_type="nested array",
    internal_data_type="numpy.ndarray",
)
EMBEDDING_KIND = Kind(
    name="embedding",
    description="Feature vector",
    serialised_data_type="array of numbers",
    internal_data_type="list[float]",
)
IMAGE_KEYPOINTS_KIND = Kind(
    name="image_keypoints",
    description="Feature points of an image",
    serialised_data_type="array of objects",
    internal_data_type="list[dict]",
)
SERIALISED_PAYLOADS_KIND = Kind(
    name="serialised_payloads",
    description="Payloads ready to be sent",
    serialised_data_type="array",
    internal_data_type="list",
)
IMAGE_METADATA_KIND = Kind(
    name="image_metadata",
    description="Width and height of an image",
    serialised_data_type="object",
    internal_data_type="dict",
)
CLASSIFICATION_PREDICTION_KIND = Kind(
    name="classification_prediction",
    description="Prediction of a classifier",
    serialised_data_type="object",
    internal_data_type="dict",
)
OBJECT_DETECTION_PREDICTION_KIND = Kind(
    name="object_detection_prediction",
    description="Boxes with classes and scores",
    serialised_data_type="object",
    internal_data_type="supervision.Detections",
)
QR_CODE_DETECTION_KIND = Kind(
    name="qr_code_detection",
    description="QR codes with their text",
    serialised_data_type="object",
    internal_data_type="supervision.Detections",
)
BAR_CODE_DETECTION_KIND = Kind(
    name="bar_code_detection",
    description="Barcodes with their text",
    serialised_data_type="object",
    internal_data_type="supervision.Detections",
)
INSTANCE_SEGMENTATION_PREDICTION_KIND = Kind(
    name="instance_segmentation_prediction",
    description="Boxes with masks, written as polygons",
    serialised_data_type="object",
    internal_data_type="supervision.Detections",
)
RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND = Kind(
    name="rle_instance_segmentation_prediction",
    description="Boxes with masks, written as COCO RLE",
    serialised_data_type="object",
    internal_data_type="supervision.Detections",
)
SEMANTIC_SEGMENTATION_PREDICTION_KIND = Kind(
    name="semantic_segmentation_prediction",
    description="One mask of the whole image a class",
    serialised_data_type="object",
    internal_data_type="supervision.Detections",
)
KEYPOINT_DETECTION_PREDICTION_KIND = Kind(
    name="keypoint_detection_prediction",
    description="Boxes with keypoints",
    serialised_data_type="object",
    internal_data_type="supervision.Detections",
)
DETECTION_KIND = Kind(
    name="detection",
    description="One detection, inside the query language only",
    serialised_data_type="none",
    internal_data_type="row of a prediction",
)
DETECTIONS_OVERLAPS_KIND = Kind(
    name="detections_overlaps",
    description="Overlap ratios of pairs of detections",
    serialised_data_type="array of objects",
    internal_data_type="list[dict]",
)
TENSOR_KIND = Kind(
    name="tensor",
    description="A torch tensor",
    serialised_data_type="nested array",
    internal_data_type="torch.Tensor",
)
ALL_KINDS: tuple[Kind, ...] = (
    WILDCARD_KIND,
    IMAGE_KIND,
    VIDEO_METADATA_KIND,
    TIMESTAMP_KIND,
    ACTION_RECOGNITION_PREDICTION_KIND,
    ROBOFLOW_MODEL_ID_KIND,
    ROBOFLOW_PROJECT_KIND,
    ROBOFLOW_SOLUTION_KIND,
    ROBOFLOW_API_KEY_KIND,
    ROBOFLOW_MANAGED_KEY,
    SECRET_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    FLOAT_KIND,
    INTEGER_KIND,
    BOOLEAN_KIND,
    STRING_KIND,
    TOP_CLASS_KIND,
    LANGUAGE_MODEL_OUTPUT_KIND,
    PREDICTION_TYPE_KIND,
    PARENT_ID_KIND,
    INFERENCE_ID_KIND,
    LIST_OF_VALUES_KIND,
    DICTIONARY_KIND,
    BYTES_KIND,
    RGB_COLOR_KIND,
    POINT_KIND,
    LABELED_POINTS_KIND,
    ZONE_KIND,
    CONTOURS_KIND,
    NUMPY_ARRAY_KIND,
    EMBEDDING_KIND,
    IMAGE_KEYPOINTS_KIND,
    SERIALISED_PAYLOADS_KIND,
    IMAGE_METADATA_KIND,
    CLASSIFICATION_PREDICTION_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    QR_CODE_DETECTION_KIND,
    BAR_CODE_DETECTION_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND,
    SEMANTIC_SEGMENTATION_PREDICTION_KIND,
    KEYPOINT_DETECTION_PREDICTION_KIND,
    DETECTION_KIND,
    DETECTIONS_OVERLAPS_KIND,
    TENSOR_KIND,
)

"""What authors of blocks import: manifests, blocks, selectors, batches, images, kinds."""

from execution_engine.block_api.batch import Batch
from execution_engine.block_api.block import (
    BlockResult,
    OutputDefinition,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.block_api.flow_control import FlowControl
from execution_engine.block_api.selector import (
    Selector,
    StepOutputImageSelector,
    StepOutputSelector,
    StepSelector,
    WorkflowImageSelector,
    WorkflowParameterSelector,
    WorkflowVideoMetadataSelector,
)
from execution_engine.images.image_data import WorkflowImageData
from execution_engine.images.metadata import (
    ImageParentMetadata,
    OriginCoordinatesSystem,
    VideoMetadata,
)

__all__ = [
    "Batch",
    "BlockResult",
    "FlowControl",
    "ImageParentMetadata",
    "OriginCoordinatesSystem",
    "OutputDefinition",
    "Selector",
    "StepOutputImageSelector",
    "StepOutputSelector",
    "StepSelector",
    "VideoMetadata",
    "WorkflowBlock",
    "WorkflowBlockManifest",
    "WorkflowImageData",
    "WorkflowImageSelector",
    "WorkflowParameterSelector",
    "WorkflowVideoMetadataSelector",
]

"""`sv.Detections` as predictions travel in workflows: columns, JSON, coordinates, joining."""

from blocks.kinds.detections.concat import concat_detections
from blocks.kinds.detections.lineage import attach_lineage

__all__ = ["attach_lineage", "concat_detections"]

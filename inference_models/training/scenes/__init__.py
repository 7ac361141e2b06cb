"""Generated scenes with exact annotations: plain shapes and industrial parts, drawn from a seed."""

from __future__ import annotations

from inference_models.training.scenes.composer import PART_CLASSES, PartScenes, SceneStyle
from inference_models.training.scenes.scene import Scene
from inference_models.training.scenes.shapes import SHAPE_CLASSES, ShapeScenes

__all__ = ["PART_CLASSES", "SHAPE_CLASSES", "PartScenes", "Scene", "SceneStyle", "ShapeScenes"]

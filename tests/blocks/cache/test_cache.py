"""`cache_get` and `cache_set` on one shared store."""

from __future__ import annotations

import numpy as np

from blocks.cache.cache_get.v1 import CacheGetBlockV1
from blocks.cache.cache_set.v1 import CacheSetBlockV1
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData
from execution_engine.block_api.workflow_memory import WorkflowMemory


def frame(video: str | None) -> WorkflowImageData:
    return WorkflowImageData(
        ImageParentMetadata("image"),
        numpy_image=np.zeros((2, 2, 3), np.uint8),
        video_metadata=None if video is None else VideoMetadata(video),
    )


class TestRun:
    def test_value_is_shared_between_the_blocks(self) -> None:
        """What one block sets the other gets; set passes the value on."""
        memory = WorkflowMemory()
        assert CacheSetBlockV1(memory).run(frame("cam"), "k", 5) == {"output": 5}
        assert CacheGetBlockV1(memory).run(frame("cam"), "k") == {"output": 5}

    def test_miss_is_false(self) -> None:
        """A key that was never set gives False."""
        assert CacheGetBlockV1(WorkflowMemory()).run(frame("cam"), "k") == {"output": False}

    def test_videos_are_apart(self) -> None:
        """A value of one video is not seen in another."""
        memory = WorkflowMemory()
        CacheSetBlockV1(memory).run(frame("cam-1"), "k", 5)
        assert CacheGetBlockV1(memory).run(frame("cam-2"), "k") == {"output": False}

    def test_still_images_share_their_input(self) -> None:
        """Images without video metadata use the name of their input as namespace."""
        memory = WorkflowMemory()
        CacheSetBlockV1(memory).run(frame(None), "k", "v")
        assert memory.get("image", "k") == "v"

    def test_engines_are_apart(self) -> None:
        """Blocks on another store see nothing."""
        CacheSetBlockV1(WorkflowMemory()).run(frame("cam"), "k", 5)
        assert CacheGetBlockV1(WorkflowMemory()).run(frame("cam"), "k") == {"output": False}


class TestInitParameters:
    def test_both_ask_for_the_memory(self) -> None:
        """The store comes from the engine by name."""
        assert CacheGetBlockV1.get_init_parameters() == ["workflow_memory"]
        assert CacheSetBlockV1.get_init_parameters() == ["workflow_memory"]

from __future__ import annotations

from execution_engine.definition.json_pointer import pointer_part


class TestPointerPart:
    def test_escapes(self) -> None:
        """Slashes and tildes are written as JSON pointers want them."""
        assert pointer_part("a/b~c") == "a~1b~0c"
        assert pointer_part(3) == "3"

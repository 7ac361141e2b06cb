"""Reading definitions from objects, files and text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execution_engine.errors import WorkflowDefinitionError, WorkflowSyntaxError
from workflows.loading import load_definition


class TestLoadDefinition:
    def test_an_object_is_taken_as_it_is(self) -> None:
        """A mapping is the definition itself and has no origin."""
        definition = {"version": "1.0"}
        loaded = load_definition(definition)
        assert loaded.definition is definition
        assert loaded.origin == ""

    @pytest.mark.parametrize("kind", [str, Path])
    def test_a_path(self, tmp_path: Path, kind: type) -> None:
        """A path, as text or object, is read; a byte order mark does not disturb."""
        path = tmp_path / "größe.json"
        path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"version": "ä"}).encode())
        loaded = load_definition(kind(path))
        assert loaded.definition == {"version": "ä"}
        assert loaded.origin == str(path)

    def test_json_text(self) -> None:
        """Text that begins with a brace is JSON, not a path."""
        assert load_definition(' \n{"version": "1.0"}').definition == {"version": "1.0"}

    def test_a_missing_file(self, tmp_path: Path) -> None:
        """A file that is not there is named."""
        path = tmp_path / "nothing.json"
        with pytest.raises(WorkflowDefinitionError) as caught:
            load_definition(path)
        assert str(caught.value) == (
            f"The workflow file '{path}' cannot be read: No such file or directory."
        )

    def test_a_folder(self, tmp_path: Path) -> None:
        """A folder is no file."""
        with pytest.raises(WorkflowDefinitionError, match="cannot be read: Is a directory"):
            load_definition(tmp_path)

    @pytest.mark.parametrize("name", ["a\0b", "\ud800"])
    def test_characters_that_no_path_has(self, name: str) -> None:
        """A path that cannot be is a file that cannot be read."""
        with pytest.raises(WorkflowDefinitionError, match="cannot be read"):
            load_definition(name)

    @pytest.mark.parametrize(
        ("number", "message"),
        [
            ("NaN", "it holds NaN, which is no JSON number; write null or a text"),
            ("-Infinity", "it holds -Infinity, which is no JSON number"),
            ("1" * 5000, "Exceeds the limit"),
        ],
    )
    def test_numbers_that_json_lacks(self, number: str, message: str) -> None:
        """What Python's reader would take or stumble over is said to be no JSON."""
        with pytest.raises(WorkflowSyntaxError, match=message) as caught:
            load_definition(f'{{"version": "1.0", "x": {number}}}')
        assert [problem.code for problem in caught.value.errors] == ["invalid_json"]

    def test_another_encoding(self, tmp_path: Path) -> None:
        """A file that is not UTF-8 is refused with the place of the fault."""
        path = tmp_path / "latin.json"
        path.write_bytes(b'{"name": "gr\xfcn"}')
        with pytest.raises(WorkflowDefinitionError, match=r"is not UTF-8 text \(byte 12\)"):
            load_definition(path)

    @pytest.mark.parametrize(
        ("text", "line", "column", "hint"),
        [
            ('{"a": 1,}', 1, 9, "remove the comma before the closing bracket"),
            ("{'a': 1}", 1, 2, "names and text take double quotes"),
            ('{"a": [1, 2\n"b": 3]}', 2, 1, "a comma or a closing bracket is missing before"),
            ('{"a": True}', 1, 7, "JSON writes true, false and null"),
            ('{\n// note\n"a": 1}', 2, 1, "JSON has no comments"),
            ('{"a": [1', 1, 9, "a comma or a closing bracket is missing before this place"),
            ('{"a":', 1, 6, "the text ends early"),
            ('{"a": @}', 1, 7, None),
        ],
    )
    def test_no_json(self, text: str, line: int, column: int, hint: str | None) -> None:
        """Faulty JSON is reported with line, column and, for usual faults, the way out."""
        with pytest.raises(WorkflowSyntaxError) as caught:
            load_definition(text)
        (problem,) = caught.value.errors
        assert problem.code == "invalid_json"
        assert f"The workflow text is no JSON: line {line}, column {column}: " in problem.message
        if hint is None:
            assert problem.hint is None
        else:
            assert hint in str(problem.hint)
            assert hint in str(caught.value)

    def test_an_empty_file(self, tmp_path: Path) -> None:
        """An empty file is said to be empty."""
        path = tmp_path / "empty.json"
        path.write_text(" \n", encoding="utf-8")
        with pytest.raises(WorkflowSyntaxError, match=r"\(the file is empty\)$"):
            load_definition(path)

    def test_too_deep(self) -> None:
        """JSON nested beyond all reason is refused, not a crash."""
        with pytest.raises(WorkflowSyntaxError, match="The workflow text is nested too deep"):
            load_definition('{"a":' * 100_000)

    def test_another_type(self) -> None:
        """Anything else is refused by its type."""
        with pytest.raises(TypeError, match="got int"):
            load_definition(3)  # type: ignore[arg-type]


class TestDuplicateMembers:
    """Names that an object of a definition text has twice."""

    def test_each_is_a_problem_with_its_place(self) -> None:
        """Which of the two values was meant is not known: all such names are reported at once."""
        text = (
            '{"version": "1.0", "inputs": [], "steps": [{"name": "a", "x/y": {"k": 1, "k": 2}},\n'
            ' {"name": "b", "name": "c"}], "outputs": [], "version": "1.1"}'
        )
        with pytest.raises(WorkflowSyntaxError) as caught:
            load_definition(text)
        assert [(one.code, one.where) for one in caught.value.errors] == [
            ("duplicate_member", "/version"),
            ("duplicate_member", "/steps/0/x~1y/k"),
            ("duplicate_member", "/steps/1/name"),
        ]
        assert caught.value.errors[2].message == (
            "The workflow text has the member 'name' 2 times in one object; a name may stand there "
            "once."
        )
        assert str(caught.value).startswith("The workflow definition has 3 problems:")

    def test_the_file_is_named(self, tmp_path: Path) -> None:
        """As in every message on a file; three times is told as three times."""
        path = tmp_path / "w.json"
        path.write_text('{"a": 1, "a": {"b": 1}, "a": {"b": 1}}')
        with pytest.raises(WorkflowSyntaxError) as caught:
            load_definition(path)
        (problem,) = caught.value.errors
        assert problem.where == "/a"
        assert problem.message.startswith(f"{path} has the member 'a' 3 times in one object")

    def test_inside_a_value_that_was_replaced(self) -> None:
        """A duplicate in the earlier of two equal names has no place of its own; the outer one is
        reported.
        """
        with pytest.raises(WorkflowSyntaxError) as caught:
            load_definition('{"a": {"b": 1, "b": 2}, "a": 1}')
        assert [one.where for one in caught.value.errors] == ["/a"]

    def test_equal_names_in_different_objects(self) -> None:
        """They are the normal case."""
        assert load_definition('{"a": {"a": [{"a": 1}, {"a": 1}]}}').definition["a"]

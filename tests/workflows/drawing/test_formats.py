"""SVG, DOT and Mermaid: whole, escaped, complete."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from workflows.drawing.dot import to_dot
from workflows.drawing.graph import Edge, Node, PictureGraph
from workflows.drawing.mermaid import to_mermaid
from workflows.drawing.svg import to_svg

SVG = "{http://www.w3.org/2000/svg}"
TINY = PictureGraph(
    (Node("input", "image", "image"), Node("step", "blur", "x@v1"), Node("output", "o", "$steps")),
    (Edge(0, 1, "data", "image to image"), Edge(1, 2, "control", "next")),
)


class TestToSvg:
    def test_it_is_xml_with_every_name(self, broken_graph: PictureGraph) -> None:
        """The picture parses; every title and type is in it as text, hostile ones included, and no
        markup comes from them.
        """
        root = ElementTree.fromstring(to_svg(broken_graph, "a <b> & c"))
        texts = [element.text or "" for element in root.iter(f"{SVG}text")]
        for node in broken_graph.nodes:
            clean = node.title.replace("\x00", "\ufffd").replace("\n", "\ufffd")
            assert clean in texts
            assert f"{node.subtitle}{node.note}" in texts
        assert "a <b> & c" in texts
        assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
            "svg", "title", "defs", "marker", "path", "rect", "text", "g",
        }  # fmt: skip

    def test_missing_and_faulty_steps_are_dashed(self, broken_graph: PictureGraph) -> None:
        """Red for missing blocks, orange for faulty steps, full lines for the rest."""
        root = ElementTree.fromstring(to_svg(broken_graph, "w"))
        boxes = [box for box in root.iter(f"{SVG}rect") if box.get("rx")]
        looks = [(box.get("stroke"), box.get("stroke-dasharray")) for box in boxes]
        assert looks[1] == ("#3c6eb4", None)
        assert looks[2] == looks[3] == ("#b3261e", "6 3")
        assert looks[4] == ("#d9480f", "6 3")

    def test_everything_lies_inside(self, broken_graph: PictureGraph) -> None:
        """No box reaches beyond the picture."""
        root = ElementTree.fromstring(to_svg(broken_graph, "w"))
        width, height = float(root.get("width", 0)), float(root.get("height", 0))
        (group,) = [child for child in root if child.tag == f"{SVG}g"]
        dx, dy = map(float, re.findall(r"[\d.]+", group.get("transform", "")))
        for box in group.iter(f"{SVG}rect"):
            x, y = float(box.get("x", 0)) + dx, float(box.get("y", 0)) + dy
            assert x >= 0
            assert x + float(box.get("width", 0)) <= width
            assert y + float(box.get("height", 0)) <= height

    def test_lines(self) -> None:
        """Data lines are full, control lines dashed, each with an arrow and a tooltip."""
        root = ElementTree.fromstring(to_svg(TINY, "w"))
        lines = [path for path in root.iter(f"{SVG}path") if path.get("fill") == "none"]
        assert [line.get("marker-end") for line in lines] == ["url(#data)", "url(#control)"]
        assert [line.get("stroke-dasharray") for line in lines] == [None, "5 4"]
        assert [line.findtext(f"{SVG}title") for line in lines] == ["image to image", "next"]

    def test_long_names_are_cut_and_kept_as_tooltip(self) -> None:
        """A name that is too long for a box ends in an ellipsis; the tooltip has all of it."""
        long = "n" * 60
        text = to_svg(PictureGraph((Node("step", long, "t"),), ()), "w")
        assert f">{'n' * 43}…<" in text
        assert f"<title>{long}: t</title>" in text

    def test_an_arrow_that_points_upward(self) -> None:
        """An edge that closes a circle has its head at the upper end."""
        nodes = (Node("step", "a", ""), Node("step", "b", ""))
        text = to_svg(PictureGraph(nodes, (Edge(0, 1, "data", "x"), Edge(1, 0, "data", "y"))), "w")
        assert 'marker-start="url(#data)"' in text


class TestToDot:
    def test_whole_text(self) -> None:
        """Nodes with shapes, edges with styles."""
        assert to_dot(TINY, 'my "w"') == (
            "digraph workflow {\n"
            '  label="my \\"w\\"";\n'
            '  node [fontname="Helvetica"];\n'
            '  n0 [label="image\\nimage", shape=ellipse];\n'
            '  n1 [label="blur\\nx@v1", shape=box];\n'
            '  n2 [label="o\\n$steps", shape=ellipse];\n'
            '  n0 -> n1 [edgetooltip="image to image"];\n'
            '  n1 -> n2 [edgetooltip="next", style="dashed"];\n'
            "}\n"
        )

    def test_hostile_names_stay_inside_their_quotes(self, broken_graph: PictureGraph) -> None:
        """Quotes, backslashes and line ends are escaped, control characters replaced."""
        text = to_dot(broken_graph, "w")
        assert 'label="\\"<script>\\\\\\n\ufffd`\\na<b>&c (unknown block)"' in text
        assert all(line.count('"') % 2 == 0 for line in text.replace('\\"', "").splitlines())


class TestToMermaid:
    def test_whole_text(self) -> None:
        """Nodes with brackets, data edges full, control edges dotted."""
        assert to_mermaid(TINY, 'my "w"\n') == (
            '---\ntitle: "my \\"w\\" "\n---\n'
            "flowchart TB\n"
            '  n0(["image<br/>image"])\n'
            '  n1["blur<br/>x@v1"]\n'
            '  n2(["o<br/>$steps"])\n'
            "  n0 --> n1\n"
            "  n1 -.-> n2\n"
        )

    def test_hostile_names_are_numbers(self, broken_graph: PictureGraph) -> None:
        """Whatever could be markup becomes a character number; missing steps get a class."""
        text = to_mermaid(broken_graph, "w")
        assert "#34;#60;script#62;#92;#10;#0;#96;<br/>a#60;b#62;#38;c" in text
        assert "<script" not in text
        assert "  class n2,n3,n4,n5 broken\n" in text

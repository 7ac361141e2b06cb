"""Nodes and edges of a picture."""

from __future__ import annotations

from typing import Any

from workflows import Session
from workflows.drawing.graph import PictureGraph, picture_graph
from workflows.inspection import inspect_definition


def edges_by_name(graph: PictureGraph) -> set[tuple[str, str, str, str]]:
    return {
        (graph.nodes[edge.source].title, graph.nodes[edge.target].title, edge.kind, edge.label)
        for edge in graph.edges
    }


class TestPictureGraph:
    def test_nodes_in_order(self, broken_graph: PictureGraph) -> None:
        """Inputs, steps and outputs in declared order, missing blocks with a note."""
        shown = [(node.kind, node.title, node.status, node.note) for node in broken_graph.nodes]
        assert shown == [
            ("input", "image", "ok", ""),
            ("step", "blur", "ok", ""),
            ("step", "rust", "unknown", " (unknown block)"),
            ("step", "ask", "not_in_build", " (not in this build)"),
            ("step", "gray", "faulty", ""),
            ("step", '"<script>\\\n\x00`', "unknown", " (unknown block)"),
            ("output", "rust", "ok", ""),
            ("output", "blurred", "ok", ""),
        ]

    def test_edges_of_missing_blocks(self, broken_graph: PictureGraph) -> None:
        """References of a block nobody knows are found at any depth."""
        assert {
            ("blur", "rust", "data", "image to picture"),
            ("gray", "rust", "data", "image to tuning"),
            ("rust", "rust", "data", "predictions"),
            ("image", "ask", "data", "image to images"),
        } <= edges_by_name(broken_graph)

    def test_several_fields_share_an_edge(self, session: Session) -> None:
        """Two fields fed by one step make one edge with both labels; control edges are apart, and
        references that lead nowhere are left out.
        """
        blur = "roboflow_core/image_blur@v1"
        definition: dict[str, Any] = {
            "version": "1.0",
            "inputs": [],
            "steps": [
                {"type": blur, "name": "a", "image": "$steps.none.image"},
                {
                    "type": "roboflow_core/stitch_images@v1",
                    "name": "b",
                    "image1": "$steps.a.image",
                    "image2": "$steps.a.image",
                },
                {
                    "type": "roboflow_core/switch_case@v1",
                    "name": "s",
                    "value": "x",
                    "cases": {"k": "$steps.a", "l": "$steps.none"},
                    "default_next_steps": ["$steps.b"],
                },
            ],
            "outputs": [{"type": "JsonField", "name": "o", "selector": "$steps.none.x"}],
        }
        graph = picture_graph(inspect_definition(definition, session.registry))
        assert edges_by_name(graph) == {
            ("a", "b", "data", "image to image1, image to image2"),
            ("s", "a", "control", "cases"),
            ("s", "b", "control", "default_next_steps"),
        }

    def test_text_with_a_dollar_in_a_plain_field(self, session: Session) -> None:
        """A field that takes no references makes no edge, whatever its text."""
        definition: dict[str, Any] = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowImage", "name": "image"}],
            "steps": [
                {
                    "type": "roboflow_core/switch_case@v1",
                    "name": "s",
                    "value": "x",
                    "cases": {},
                    "case_insensitive": "$inputs.image",
                    "default_next_steps": [],
                }
            ],
            "outputs": [],
        }
        assert picture_graph(inspect_definition(definition, session.registry)).edges == ()

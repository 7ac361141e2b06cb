"""Places: layers, order, distances; checked by their rules on random graphs."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.drawing.layout import Layout, lay_out

HEIGHT, GAP, ROW = 40.0, 20.0, 30.0


def place(
    count: int,
    edges: list[tuple[int, int]],
    first: tuple[int, ...] = (),
    last: tuple[int, ...] = (),
) -> Layout:
    return lay_out(
        [60.0] * count,
        HEIGHT,
        [(source, target, 0) for source, target in edges],
        first=first,
        last=last,
        column_gap=GAP,
        row_gap=ROW,
    )


def layers(layout: Layout) -> list[int]:
    return [round((y - HEIGHT / 2) / (HEIGHT + ROW)) for _, y in layout.centres]


class TestLayOut:
    def test_nothing(self) -> None:
        """An empty graph has no size."""
        assert place(0, []) == Layout((), (), (0.0, 0.0))

    def test_a_chain_is_straight(self) -> None:
        """Boxes of one width in a chain lie below each other."""
        layout = place(4, [(0, 1), (1, 2), (2, 3)])
        assert {x for x, _ in layout.centres} == {30.0}
        assert layers(layout) == [0, 1, 2, 3]
        assert layout.size_wh == (60.0, 4 * HEIGHT + 3 * ROW)

    def test_inputs_above_and_outputs_below(self) -> None:
        """First nodes share the top layer, last ones the bottom, free ones lie between."""
        layout = place(6, [(0, 2), (2, 3), (3, 4), (1, 5)], first=(0, 1), last=(4, 5))
        assert layers(layout) == [0, 0, 1, 2, 3, 3]

    def test_a_lone_step_lies_below_the_inputs(self) -> None:
        """A step without sources does not lie among the inputs; without inputs it is at the top."""
        assert layers(place(2, [], first=(0,))) == [0, 1]
        assert layers(place(2, [(0, 1)])) == [0, 1]

    def test_a_circle_ends(self) -> None:
        """A circle is laid out with one edge turned round, whose arrow points upward."""
        layout = place(3, [(0, 1), (1, 2), (2, 0)])
        assert sorted(layers(layout)) == [0, 1, 2]
        arrows = {line.arrow: line.upward for line in layout.lines if line.arrow >= 0}
        assert sorted(arrows.values()) == [False, False, True]

    def test_two_steps_that_feed_each_other(self) -> None:
        """Both directions keep their arrow."""
        layout = place(2, [(0, 1), (1, 0)])
        assert sorted((line.arrow, line.upward) for line in layout.lines) == [(0, False), (1, True)]

    def test_a_step_that_feeds_itself(self) -> None:
        """A loop on one node is not drawn and does no harm."""
        layout = place(2, [(0, 0), (0, 1)])
        assert [line.edges for line in layout.lines] == [(1,)]

    def test_lines_of_one_source_share_their_way(self) -> None:
        """Long lines from one source bend once a layer, however many there are."""
        chain = [(0, 1), (1, 2), (2, 3), (3, 4)]
        layout = place(8, [*chain, *((0, node) for node in (5, 6, 7)), (4, 5), (4, 6), (4, 7)])
        shared = [line for line in layout.lines if set(line.edges) == {4, 5, 6}]
        assert len(shared) == 2 * 4  # between and past each of four layers

    def test_an_avoidable_crossing_is_avoided(self) -> None:
        """Two lines that cross in the given order are sorted apart."""
        layout = place(4, [(0, 3), (1, 2)])
        (x0, _), (x1, _), (x2, _), (x3, _) = layout.centres
        assert (x0 < x1) == (x3 < x2)

    @given(st.data())
    def test_rules_hold_for_any_graph(self, data: st.DataObject) -> None:
        """Boxes never overlap, lines join neighbouring layers from top to bottom, every edge
        between different nodes ends in an arrow, and all lies within the size.
        """
        count = data.draw(st.integers(1, 9))
        node = st.integers(0, count - 1)
        edges = data.draw(st.lists(st.tuples(node, node), max_size=14, unique=True))
        widths = data.draw(st.lists(st.floats(10, 200), min_size=count, max_size=count))
        layout = lay_out(
            widths, HEIGHT, [(*edge, 0) for edge in edges], column_gap=GAP, row_gap=ROW
        )
        for (a, (xa, ya)), (b, (xb, yb)) in combinations(enumerate(layout.centres), 2):
            if ya == yb:
                assert abs(xa - xb) >= (widths[a] + widths[b]) / 2 + GAP - 1e-6
        for width, (x, y) in zip(widths, layout.centres, strict=True):
            assert x - width / 2 >= -1e-6
            assert x + width / 2 <= layout.size_wh[0] + 1e-6
            assert y + HEIGHT / 2 <= layout.size_wh[1] + 1e-6
        for line in layout.lines:
            length = line.end[1] - line.start[1]
            assert length == pytest.approx(HEIGHT) or length == pytest.approx(ROW)
        carried = [number for line in layout.lines for number in line.edges]
        drawn = {number for number, (source, target) in enumerate(edges) if source != target}
        assert set(carried) == drawn
        ends: set[tuple[float, float, bool]] = set()
        for line in layout.lines:
            if line.arrow >= 0:
                ends.add((*(line.start if line.upward else line.end), line.upward))
        for number in drawn:
            x, y = layout.centres[edges[number][1]]
            assert (x, y - HEIGHT / 2, False) in ends or (x, y + HEIGHT / 2, True) in ends

    def test_long_lines_are_straight(self) -> None:
        """A chain of 400 steps that all use one input: the chain and the line beside it stay
        straight, so that the picture is two columns wide.
        """
        edges = [(node, node + 1) for node in range(400)] + [(0, node) for node in range(2, 401)]
        layout = place(401, edges)
        assert layout.size_wh[0] < 3 * 60
        bends = {line.start[0] for line in layout.lines if line.start[0] == line.end[0]}
        assert len(bends) <= 3

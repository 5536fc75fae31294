"""The reliability diagram; the measurement itself is tested with its command, after a training."""

from __future__ import annotations

from xml.etree import ElementTree

from cocite.systems.confidence.measures import Reliability
from cocite_jobs.evaluation.confidence import draw


def test_the_diagram_is_the_same_for_the_same_points_and_well_formed() -> None:
    points = [Reliability(0.1, 0.2, 10), Reliability(0.8, 0.7, 3)]
    one, other = (draw(points, points[:1], "a < b") for _ in range(2))
    assert one == other
    root = ElementTree.fromstring(one)
    assert root.attrib["aria-label"] == "Reliability diagram, a < b"
    assert draw(points[:1], points, "a < b") != one

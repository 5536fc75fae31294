"""What the operator reads of an error of a stage."""

from __future__ import annotations

import pytest

from cocite_serve.rollouts.errors import last_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\n\n", "b"),
        ("x\ncocite.errors.IntegrityError: damaged", "damaged"),
        ("ValueError: x", "ValueError: x"),
        ("", ""),
    ],
)
def test_the_last_line_of_a_traceback(text: str, line: str) -> None:
    assert last_line(text) == line

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind
from pygls.workspace import PositionCodec

from cocite_serve.editors.positions import Lines

TEXTS = st.text(st.sampled_from("ab \n\r\té\u2028\x0c\U0001f600"), max_size=30)


@given(TEXTS, st.sampled_from(list(PositionEncodingKind)))
def test_a_place_of_a_character_is_that_character(text: str, encoding: PositionEncodingKind) -> None:
    lines = Lines(text, PositionCodec(encoding))
    for at in range(len(text) + 1):
        if text[at - 1 : at + 1] != "\r\n":  # no place of a document is within the end of a line
            assert lines.offset(lines.position(at)) == at


@given(TEXTS, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_every_place_is_one_of_the_text(text: str, line: int, character: int) -> None:
    assert 0 <= Lines(text, PositionCodec()).offset(Position(line, character)) <= len(text)


@pytest.mark.parametrize("sign", ["\x0c", "\u2028", "\x85"])
def test_signs_that_end_no_line_of_the_protocol_end_none(sign: str) -> None:
    assert Lines(f"a{sign}b\nc", PositionCodec()).position(4) == Position(1, 0)


def test_code_units_are_those_of_utf_16() -> None:
    lines = Lines("é\U0001f600x", PositionCodec())
    assert lines.range(1, 3).end == Position(0, 4)
    assert lines.offset(Position(0, 2)) == 2, "the middle of a character is its end"

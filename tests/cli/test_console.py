from __future__ import annotations

import dataclasses
import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import torch

from cocite.cli import console


@dataclasses.dataclass
class Point:
    x: np.float32
    where: Path


def test_json_has_numbers_as_numbers_and_nothing_that_is_not_json(capsys: pytest.CaptureFixture[str]) -> None:
    value = {
        "f": np.float32(0.5), "i": np.int64(3), "b": np.bool_(True), "a": np.arange(3), "t": torch.ones(2),
        "nan": float("nan"), "inf": np.array([np.inf, 1.0]), "p": Point(np.float32(2), Path("a/b")),
        "s": {"b", "a"}, "tuple": (1, "é"), 5: None, "day": date(2019, 1, 2),
    }  # fmt: skip
    console.print_json(value)
    text = capsys.readouterr().out
    assert json.loads(text, parse_constant=pytest.fail) == {
        "f": 0.5, "i": 3, "b": True, "a": [0, 1, 2], "t": [1.0, 1.0], "nan": None, "inf": [None, 1.0],
        "p": {"x": 2.0, "where": "a/b"}, "s": ["a", "b"], "tuple": [1, "é"], "5": None, "day": "2019-01-02",
    }  # fmt: skip
    assert "é" in text


def test_json_refuses_what_it_cannot_say() -> None:
    with pytest.raises(TypeError, match="a object has no form in JSON"):
        console.print_json({"x": object()})


def test_a_table_shows_brackets_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_table(
        "Sentences [CIT]", ["text [a]", "score"], [["as in [CIT] and [red]", 0.12345], ["other", 3]]
    )
    out = capsys.readouterr().out
    for text in ("Sentences [CIT]", "text [a]", "as in [CIT] and [red]", "0.123", " 3 "):
        assert text in out


def test_short_progress_prints_nothing_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress_bar("Indexing [CIT]", total=3) as advance:
        advance()
        advance(2)
    assert capsys.readouterr() == ("", "")


def test_a_word_between_colons_is_no_picture(capsys: pytest.CaptureFixture[str]) -> None:
    console.out.print("smith:book: On trees")
    console.print_note("fig:key:x")
    console.print_table(":link:", [":a:", ":b:"], [[":100:", ":x:"]])
    shown = capsys.readouterr()
    assert "smith:book: On trees" in shown.out
    assert "fig:key:x" in shown.err
    assert all(name in shown.out for name in (":link:", ":a:", ":b:", ":100:", ":x:"))

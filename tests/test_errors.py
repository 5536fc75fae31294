"""Errors are one sentence: where, what, what to do."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import (
    BusyError,
    CociteError,
    ConfigError,
    InputError,
    IntegrityError,
    NotFoundError,
    nearest,
)


@pytest.mark.parametrize(
    ("where", "hint", "text"),
    [
        (None, None, "bad year 3022"),
        ("papers.jsonl:7", None, "papers.jsonl:7: bad year 3022"),
        (None, "mend it", "bad year 3022 (mend it)"),
        ("papers.jsonl:7", "mend it", "papers.jsonl:7: bad year 3022 (mend it)"),
    ],
)
def test_an_error_reads_where_what_and_what_to_do(where: str | None, hint: str | None, text: str) -> None:
    error = InputError("bad year 3022", where=where, hint=hint)
    assert str(error) == text
    assert (error.message, error.where, error.hint) == ("bad year 3022", where, hint)


def test_exit_codes_distinguish_the_kinds() -> None:
    codes = {kind: kind("x").exit_code for kind in (CociteError, InputError, IntegrityError, BusyError)}
    assert list(codes.values()) == [1, 2, 3, 4]
    assert ConfigError.exit_code == NotFoundError.exit_code == InputError.exit_code


def test_an_error_keeps_its_parts_between_processes() -> None:
    error = InputError("bad year 3022", where="papers.jsonl:7", hint="mend it")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 as Ray carries it between processes
    assert str(again) == str(error)
    assert (type(again), again.where, again.hint) == (InputError, error.where, error.hint)


def test_nearest_names_the_closest_key() -> None:
    assert nearest("margn", ["margin", "gamma", "epochs"]) == "did you mean 'margin'?"
    assert nearest("Title_Weight", ["title_weight", "title"]) == "did you mean 'title_weight'?"
    assert nearest("dropout", ["Dropout"]) == "did you mean 'Dropout'?"


def test_nearest_lists_the_keys_when_none_is_close() -> None:
    assert nearest("zzz", ["gamma", "epochs"]) == "known: epochs, gamma"
    assert nearest("zzz", []) == "none is known"
    many = nearest("zzz", [f"key{i:03}" for i in range(50)])
    assert many.endswith("key019, ...")


@given(st.sets(st.from_regex(r"[a-z_]{4,12}", fullmatch=True), min_size=1, max_size=30), st.data())
def test_nearest_finds_a_known_key_itself(names: set[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(names)))
    assert nearest(name, names) == f"did you mean {name!r}?"

"""Where nothing is known of who cites whom: one function says so, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.records import make, paper

from cocite.corpus.cold_history import cold_before, cold_corpus, cold_history
from cocite.corpus.history import History
from cocite.corpus.records import PaperRecord
from cocite.errors import InputError


def chain(*splits: str) -> list[PaperRecord]:
    """A paper of each split, all of one year, each citing those before it."""
    ids = [f"p{number}" for number in range(len(splits))]
    return [
        paper(id_, *ids[:number], split=split)
        for number, (id_, split) in enumerate(zip(ids, splits, strict=True))
    ]


@pytest.mark.parametrize(
    ("splits", "cold"),
    [
        (("train", "train", "dev", "test"), None),
        (("train", "dev", "test"), "dev"),  # the only paper of train is the first, which cites nothing
        (("", "test", "test"), "test"),
        (("train", "test"), "test"),
        (("train", "train", "test"), None),
        (("", ""), None),
    ],
)
def test_a_history_without_links_is_cold(tmp_path: Path, splits: tuple[str, ...], cold: str | None) -> None:
    corpus = make(tmp_path, chain(*splits))
    error = cold_corpus(corpus)
    if cold is None:
        assert error is None
        return
    assert isinstance(error, InputError)
    assert f"no paper before the {cold} split cites another one" in str(error)
    assert "cocite corpus split STORE --random 0.1,0.1 --to NEW" in str(error)
    assert str(error) == str(cold_before(corpus, cold))


def test_a_corpus_without_links_needs_links_and_not_another_split(tmp_path: Path) -> None:
    for splits in (("", ""), ("train", "test")):
        corpus = make(tmp_path / "-".join(splits), [paper(f"p{i}", split=s) for i, s in enumerate(splits)])
        error = cold_corpus(corpus)
        assert error is not None
        assert error.hint == "the corpus holds no link at all: import it with what its papers cite"


def test_a_history_with_a_link_is_not_cold(tmp_path: Path) -> None:
    corpus = make(tmp_path)
    assert History.until(corpus, 1999).is_cold
    assert cold_history(History.until(corpus, 1999), "of 1999", "wait") is not None
    assert not History.until(corpus, 2000).is_cold
    assert cold_history(History.until(corpus, 2000), "of 2000", "wait") is None

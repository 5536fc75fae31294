"""Inputs of a training that lie in the model folder: made once, found, and of the corpus that is trained on."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import verify
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.training.input_artifacts import find_input, make_input, open_input


def test_an_input_is_found_by_its_kind(tmp_path: Path) -> None:
    with pytest.raises(
        NotFoundError, match=r"holds no candidates to train on \(train with `cocite train`, which"
    ):
        find_input(tmp_path, "candidates", lacking="candidates to train on")
    (tmp_path / "candidates").mkdir()
    assert find_input(tmp_path, "candidates", lacking="candidates to train on") == tmp_path / "candidates"


class Chosen(Settings):
    """Settings of an input."""

    length: int = 3
    where: str = "here"
    index: str | None = None


def write(to: Path) -> dict[str, int]:
    (to / "a.txt").write_text("words")
    return {"words": 1}


def make(corpus: Corpus, folder: Path, settings: Settings, **more: str) -> bool:
    return make_input("texts", settings, corpus, folder, write, more=more)


def test_an_input_is_made_once_for_the_same_corpus_and_settings(
    synthetic: SyntheticCorpora, tmp_path: Path
) -> None:
    corpus, folder = synthetic(60, seed=1), tmp_path / "texts"
    assert make(corpus, folder, Chosen())
    assert verify(folder, kind="texts").meta == {
        "corpus": corpus.version,
        "settings": {"length": 3, "where": "here"},
        "words": 1,
    }
    assert not make(corpus, folder, Chosen())
    assert not make(corpus, folder, Chosen(index="changes nothing"))
    assert make(corpus, folder, Chosen(length=4))
    assert make(corpus, folder, Chosen(length=4), of="candidates")
    assert not make(corpus, folder, Chosen(length=4), of="candidates")
    assert make(synthetic(60, seed=2), folder, Chosen(length=4), of="candidates")


def test_what_fails_leaves_the_input_that_is_there(synthetic: SyntheticCorpora, tmp_path: Path) -> None:
    corpus, folder = synthetic(60, seed=1), tmp_path / "texts"
    make(corpus, folder, Chosen())
    digest = verify(folder).digest

    def fail(_: Path) -> None:
        raise InputError("no text")

    with pytest.raises(InputError, match="no text"):
        make_input("texts", Chosen(length=9), corpus, folder, fail)
    assert verify(folder).digest == digest
    assert [path.name for path in tmp_path.iterdir()] == ["texts"]


def test_an_input_of_another_corpus_or_other_settings_is_refused(
    synthetic: SyntheticCorpora, tmp_path: Path
) -> None:
    corpus, other, folder = synthetic(60, seed=1), synthetic(60, seed=2), tmp_path / "texts"
    make(corpus, folder, Chosen())
    for settings in (None, Chosen(), Chosen(index="index")):
        assert open_input(folder, "texts", corpus, what="texts", settings=settings).kind == "texts"
    with pytest.raises(InputError, match=r"texts: the texts are of another corpus \(remove them, to be made"):
        open_input(folder, "texts", other, what="texts")
    with pytest.raises(InputError, match=r"texts: the texts were made with other settings \(train with"):
        open_input(folder, "texts", corpus, what="texts", settings=Chosen(where="there"))
    open_input(folder, "texts", corpus, what="texts", settings=Chosen(where="there"), besides=("where",))

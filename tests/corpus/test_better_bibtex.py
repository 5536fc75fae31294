"""Citation keys as Better BibTeX makes them, compared with keys that its users published."""

from __future__ import annotations

import re

import pytest
from helpers.odd_papers import of_real_shape
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.better_bibtex import family_name, folded, title_words
from cocite.corpus.bibtex import citation_keys
from cocite.corpus.records import PaperRecord


def key_of(paper: PaperRecord) -> str:
    [key] = citation_keys([paper], form="better-bibtex")
    return key


@pytest.mark.parametrize(
    ("author", "title", "year", "key"),
    [
        ("Ashish Vaswani", "Attention Is All You Need", 2017, "vaswaniAttentionAllYou2017"),
        (
            "Jacob Devlin",
            "BERT: Pre-training of Deep Bidirectional Transformers",
            2019,
            "devlinBERTPretrainingDeep2019",
        ),
        (
            "Mike Lewis",
            "BART: Denoising Sequence-to-Sequence Pre-training",
            2020,
            "lewisBARTDenoisingSequencetoSequence2020",
        ),
        (
            "Laurens van der Maaten",
            "Visualizing Data using t-SNE",
            2008,
            "vandermaatenVisualizingDataUsing2008",
        ),
        (
            "Diederik P. Kingma",
            "Adam: A Method for Stochastic Optimization",
            2015,
            "kingmaAdamMethodStochastic2015",
        ),
        (
            "Suchin Gururangan",
            "Don't Stop Pretraining: Adapt Language Models",
            2020,
            "gururanganDontStopPretraining2020",
        ),
        ("David Lopez-Paz", "Gradient Episodic Memory", 2017, "lopez-pazGradientEpisodicMemory2017"),
        ("Łukasz Weiß-Øre", "Über naïve <i>Bayes</i>", 0, "weiss-oreUberNaiveBayes"),
        ("Ann O'Connor", "of the in", 1999, "oconnor1999"),
        ("王小明", "中文", 2020, "2020"),
        ("", "", 0, "anon"),
    ],
)
def test_keys_that_are_known(author: str, title: str, year: int, key: str) -> None:
    assert key_of(PaperRecord("a", title, year=year, authors=(author,) if author else ())) == key


def test_a_key_used_before_gets_a_letter_whatever_its_case() -> None:
    papers = [
        PaperRecord(str(i), title, year=1999, authors=("Lee",))
        for i, title in enumerate(("BERT", "Bert", "bert"))
    ]
    keys = citation_keys(papers, ["leeBert1999B"], "better-bibtex")
    assert keys == ["leeBERT1999", "leeBert1999a", "leeBert1999c"]


def test_keys_of_papers_of_real_shape_differ_and_are_plain() -> None:
    keys = citation_keys(of_real_shape(1000), (), "better-bibtex")
    assert len({key.lower() for key in keys}) == 1000
    assert all(re.fullmatch(r"[A-Za-z0-9-]+", key) for key in keys)


@given(st.text(), st.text())
def test_any_texts_make_a_plain_key(author: str, title: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9-]+", key_of(PaperRecord("a", title, authors=(author,))))


@given(st.text())
def test_any_text_gives_plain_words_and_names(text: str) -> None:
    assert all(re.fullmatch("[A-Za-z0-9]+", word) for word in title_words(text))
    assert re.fullmatch(r"(?:[A-Za-z0-9-]+(?: [A-Za-z0-9-]+)*)?", family_name(text))
    assert folded(text).isascii()

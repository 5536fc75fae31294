from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cocite.protocols import Query
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from cocite.text.paragraphs import ABSTRACT, CONTEXT, GAP, OTHER, SPECIAL, TITLE, UNKNOWN, Paragraphs
from cocite.text.vocabulary import Vocabulary

WORDS = ("the", "parser", "of", "trees", "grammar")


def reader(**settings: object) -> ParagraphReader:
    return ParagraphReader(ParagraphSettings.parse(settings), Vocabulary(WORDS, np.arange(5)[::-1]))


def number(word: str) -> int:
    return SPECIAL + WORDS.index(word)


def lists(paragraphs: Paragraphs) -> list[list[int]]:
    return [paragraphs.take(np.array([i])).tokens.tolist() for i in range(len(paragraphs))]


def read(texts: list[str | None], kind: int = ABSTRACT, **settings: object) -> list[list[int]]:
    return lists(reader(**settings).read(pa.array(texts, pa.string()), kind))


def test_words_keep_their_order_and_repetitions() -> None:
    found = read(["Trees, trees: the PARSER.", "", None, "zyx of zyx"])
    assert found == [
        [number("trees"), number("trees"), number("the"), number("parser")],
        [],
        [],
        [UNKNOWN, number("of"), UNKNOWN],
    ]


def test_marks_are_words_of_a_context_alone() -> None:
    text = "the TARGETCIT parser OTHERCIT of [CIT] trees [[CIT:7]]"
    assert read([text], CONTEXT) == [
        [number("the"), GAP, number("parser"), OTHER, number("of"), GAP, number("trees"), OTHER]
    ]
    bare = [number(word) for word in ("the", "parser", "of", "trees")]
    assert read([text], CONTEXT, marks=False) == [bare]
    assert read([text], ABSTRACT) == [bare]


def test_a_title_is_never_empty() -> None:
    assert read(["", "trees", None], TITLE) == [[UNKNOWN], [number("trees")], [UNKNOWN]]


def test_stop_words_can_be_left_out() -> None:
    assert read(["the parser of trees"], stop_words=False) == [[number("parser"), number("trees")]]


def test_long_texts_are_cut_a_context_around_its_gap() -> None:
    words = " ".join(["trees"] * 30)
    assert len(read([words], max_abstract=8)[0]) == 8
    for before, after, at in ((30, 30, 4), (1, 30, 1), (30, 1, 6)):
        text = f"{'trees ' * before} TARGETCIT {'grammar ' * after}"
        (found,) = read([text], CONTEXT, max_context=8)
        assert len(found) == 8
        assert found.index(GAP) == at


def test_unknown_words_share_buckets_by_their_spelling() -> None:
    (found,) = read(["alpha parser beta alpha"], buckets=1000)
    assert found[0] == found[3] != found[2]
    assert min(found[0], found[2]) >= SPECIAL + len(WORDS)
    assert max(found) < reader(buckets=1000).size


def test_many_texts_read_as_each_alone() -> None:
    texts = [f"{'trees ' * k} TARGETCIT parser {'of ' * (9 - k)}" for k in range(10)] * 500
    together = read(texts, CONTEXT, max_context=6)
    assert together[:10] == [read([text], CONTEXT, max_context=6)[0] for text in texts[:10]]
    assert together[10:20] == together[:10]


def test_queries_have_all_three_paragraphs() -> None:
    queries = [
        Query("a", title="Trees", context="the TARGETCIT"),
        Query("b", title="Parser", abstract="of trees"),
    ]
    titles, abstracts, contexts = reader().queries(queries)
    assert lists(titles) == [[number("trees")], [number("parser")]]
    assert lists(abstracts) == [[], [number("of"), number("trees")]]
    assert lists(contexts) == [[number("the"), GAP], []]


def test_the_vocabulary_comes_back_from_its_file(tmp_path: Path) -> None:
    reader().save(tmp_path)
    again = ParagraphReader.load(tmp_path, ParagraphSettings())
    assert again.vocabulary.types == WORDS
    assert again.size == reader().size


def test_limits_must_be_positive() -> None:
    with pytest.raises(ValueError, match="max_title"):
        ParagraphSettings(max_title=0)

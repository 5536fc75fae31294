from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cocite.errors import ConfigError
from cocite.text.sentence_texts import (
    SentenceReader,
    Surroundings,
    stretches,
    without_marks,
    words_around_gap,
)
from cocite.text.wordpiece import train_wordpiece

TEXT = "We parse a sentence as others do. It is fast. The parser is a model of words."


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return train_wordpiece(lambda: [TEXT, "A title of it [SEP] (e.g., a)"] * 3, 300)


def read(reader: SentenceReader, tokens: Any) -> list[str]:
    for i in range(len(tokens)):
        assert tokens[i][-1] == reader.end
        assert reader.end not in tokens[i][:-1]
    return [reader.tokenizer.decode(tokens[i][:-1].tolist()) for i in range(len(tokens))]


def test_a_sentence_is_cut_and_ends_with_the_end_token(tokenizer: Any) -> None:
    reader = SentenceReader(tokenizer, 5)
    found = reader.tokens(["it is fast.", "we parse a sentence as others", "", "a [SEP]"])
    assert found.counts.tolist()[:3] == [5, 5, 1]
    assert read(reader, found)[:3] == ["it is fast .", "we parse a sentence", ""]
    assert len(reader.tokens([])) == 0


def test_abstracts_are_sentences_behind_a_title(tokenizer: Any) -> None:
    reader = SentenceReader(tokenizer, 64)
    titles, abstracts = ["A title.", None, "  ", "Words"], [TEXT, "It is fast.", None, ""]
    tokens, indptr = reader.abstracts(titles, abstracts)
    assert indptr.tolist() == [0, 4, 5, 5, 6]
    assert read(reader, tokens)[::3] == ["a title .", "the parser is a model of words ."]
    tokens, indptr = reader.abstracts(titles, abstracts, title=False)
    assert indptr.tolist() == [0, 3, 4, 4, 4]


def test_marks_are_taken_out_of_bodies(tokenizer: Any) -> None:
    assert without_marks("As [[CIT:12]] and TARGETCIT do , see OTHERCIT.") == "As and do , see ."
    reader = SentenceReader(tokenizer, 64)
    tokens, indptr = reader.bodies([["We parse [[CIT:3]] .", "[[CIT:1]]"], [], ["It is fast."]])
    assert indptr.tolist() == [0, 2, 2, 3]
    assert read(reader, tokens) == ["we parse .", "", "it is fast ."]


def test_surroundings_know_where_the_gap_is(tokenizer: Any) -> None:
    reader = SentenceReader(tokenizer, 64)
    texts = [
        "others OTHERCIT . It is fast (e.g., TARGETCIT ). The parser",
        "",
        "We parse as [CIT] do.",
        "We parse. It is fast. A model.",
    ]
    found = reader.surroundings(texts)
    assert len(found) == 4
    assert found.indptr.tolist() == [0, 3, 3, 4, 7]
    assert found.gap.tolist() == [1, 0, 0, 1]
    assert read(reader, found.sentences)[1] == "it is fast ( e . g . , ) ."
    some = found.take(np.array([3, 1, 0]))
    assert some.indptr.tolist() == [0, 3, 3, 6]
    assert some.gap.tolist() == [1, 0, 1]
    assert read(reader, some.sentences)[0] == "we parse ."
    assert len(Surroundings.none(3)) == 3
    assert len(reader.surroundings([])) == 0


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ("It is fast. We parse as OTHERCIT and TARGETCIT do, see it.", "as and do, see"),
        ("[CIT] parse a sentence", "parse a"),
        ("A parser of [CIT]", "parser of"),
        ("No gap is here.", ""),
        ("", ""),
    ],
)
def test_the_words_next_to_a_gap_are_those_on_either_side(context: str, words: str) -> None:
    assert words_around_gap(context, 2) == words
    assert words_around_gap(context, 0) == ""


def test_words_next_to_gaps_are_sentences_of_their_own(tokenizer: Any) -> None:
    reader = SentenceReader(tokenizer, 64)
    texts = ["It is fast. We parse as [CIT] do.", "It is fast.", "[CIT] a model"]
    found = reader.surroundings(texts, near=1)
    assert found.near is not None
    assert read(reader, found.near) == ["as do .", "", "a"]
    some = found.take(np.array([2, 0]))
    assert some.near is not None
    assert read(reader, some.near) == ["a", "as do ."]
    assert reader.surroundings(texts).take(np.array([1])).near is None


def test_a_tokenizer_must_have_an_end(tokenizer: Any) -> None:
    bare = type(tokenizer)(tokenizer_object=tokenizer.backend_tokenizer)
    bare.sep_token = bare.eos_token = None
    with pytest.raises(ConfigError, match="neither an end token nor a separator"):
        SentenceReader(bare, 8)


@pytest.mark.parametrize(("most", "length"), [(0, 8), (6, 3), (6, 4), (6, 1), (5, 8), (1, 8), (40, 8)])
def test_stretches_are_spread_over_a_text(most: int, length: int) -> None:
    counts = np.array([0, 3, 6, 7, 50, 1, 41])
    owner, place = stretches(counts, most, length)
    for paper, count in enumerate(counts.tolist()):
        mine = place[owner == paper]
        if not most or count <= most:
            assert mine.tolist() == list(range(count))
            continue
        size = min(length, most)
        assert len(mine) == most // size * size
        assert (np.diff(mine) > 0).all()
        assert mine.max() < count
        assert (mine.reshape(-1, size) == mine[::size, None] + np.arange(size)).all()
        assert np.diff(mine[::size]).tolist() == [] or np.ptp(np.diff(mine[::size])) <= 1

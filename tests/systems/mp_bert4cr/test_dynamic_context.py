from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from helpers.goodness_of_fit import fits
from numpy.typing import NDArray

from cocite.errors import ConfigError
from cocite.protocols import NO_ROW
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext, DynamicContextSettings
from cocite.text.documents import Documents, bounds
from cocite.text.sentence_texts import SentenceTexts, Surroundings
from cocite.text.token_lists import TokenLists

END = 2
ABSTRACTS, BODIES, CONTEXTS = 10_000, 20_000, 30_000
"""First of the numbers that stand for sentences: the tokens of sentence i of the abstracts are 10,000 + i and so on."""


class Tokenizer:
    """All that is asked of a tokenizer here: its end token, and a copy of itself."""

    eos_token_id, sep_token_id = None, END

    @property
    def backend_tokenizer(self) -> Any:
        from tokenizers import Tokenizer as Rust
        from tokenizers.models import WordPiece

        return Rust(WordPiece({"[UNK]": 0}, unk_token="[UNK]"))


def lists(first: int, count: int) -> TokenLists:
    """Sentence i reads its number 1 + i % 3 times, and ends."""
    return TokenLists.of([[first + i] * (1 + i % 3) + [END] for i in range(count)])


def make(
    abstracts: list[int], bodies: list[list[int]], contexts: list[tuple[int, int, int, int]]
) -> SentenceTexts:
    """Texts of papers with so many abstract sentences and bodies at such positions.

    A context is (citing, position, sentences of its own text, which of them has the gap).
    """
    own = np.array([count for _, _, count, _ in contexts], np.int64)
    return SentenceTexts(
        Tokenizer(),
        lists(ABSTRACTS, sum(abstracts)),
        bounds(np.array(abstracts)),
        lists(BODIES, sum(map(len, bodies))),
        bounds(np.array([len(body) for body in bodies])),
        np.array([position for body in bodies for position in body], np.int32),
        Surroundings(
            lists(CONTEXTS, int(own.sum())), bounds(own), np.array([gap for *_, gap in contexts], np.int64)
        ),
        np.array([citing for citing, *_ in contexts], np.int32),
        np.array([position for _, position, *_ in contexts], np.int32),
    )


TEXTS = make(
    [3, 0, 12, 1, 0],
    [list(range(0, 200, 2)), [5, 6, 9], [], [], []],
    [
        (0, 100, 0, 0),  # its sentence is in the body
        (0, 2, 0, 0),  # the second of the body: none is before the sentence before it
        (0, 0, 0, 0),
        (0, 101, 5, 2),  # it is not: a text of its own
        (0, 101, 0, 0),  # nor has it a text: the nearest
        (1, 8, 0, 0),  # nearer to the last of three
        (1, 700, 0, 0),
        (2, 4, 3, 0),  # no body
        (2, 4, 0, 0),
        (0, -1, 3, 1),  # nobody knows where
    ],
)
SENTENCES = {
    name: (lists.counts, int(first))
    for name, lists, first in (
        ("abstracts", TEXTS.abstracts, ABSTRACTS),
        ("bodies", TEXTS.bodies, BODIES),
        ("contexts", TEXTS.contexts.sentences, CONTEXTS),
    )
}


def read(documents: Documents) -> list[list[int]]:
    """The sentences of each document by their numbers; 0 for one of the end token alone."""
    ids, cuts = documents.ids.numpy(), documents.sentences.tolist()
    numbers = []
    for low, high in pairwise(cuts):
        tokens = ids[low:high].tolist()
        assert tokens[-1] == END
        number = tokens[0] if high > low + 1 else 0
        assert tokens[:-1] == ([number] * (1 + number % 10_000 % 3) if number else [])
        numbers.append(number)
    ends = documents.documents.tolist()
    assert ends[-1] == len(numbers)
    return [numbers[low:high] for low, high in pairwise(ends)]


def dynamic(**settings: Any) -> DynamicContext:
    return DynamicContext(DynamicContextSettings(**settings), TEXTS)


def draws(count: int, epoch: int = 0) -> Draws:
    return Draws(7, epoch, np.arange(count))


def test_a_paper_is_its_abstract_and_some_of_its_body() -> None:
    found = read(dynamic().papers(np.array([0, 1, 2, 3, 4, 0]), draws(6)))
    for paper in (found[0], found[5]):
        assert paper[:3] == [ABSTRACTS, ABSTRACTS + 1, ABSTRACTS + 2]
        assert len(paper) == 33
        assert sorted(set(paper)) == paper
        assert paper[3] >= BODIES
        assert paper[-1] < BODIES + 100
    assert found[0] != found[5]
    assert found[1] == [BODIES + 100, BODIES + 101, BODIES + 102]
    assert found[2] == list(range(ABSTRACTS + 3, ABSTRACTS + 13))
    assert found[3] == [ABSTRACTS + 15]
    assert found[4] == [0]


def test_what_is_not_asked_for_is_not_read() -> None:
    rows = np.array([0, 1, 2])
    assert [len(paper) for paper in read(dynamic(body=0).papers(rows, draws(3)))] == [3, 1, 10]
    assert [len(paper) for paper in read(dynamic(abstract=0).papers(rows, draws(3)))] == [30, 3, 1]
    assert [len(paper) for paper in read(dynamic(abstract=2, body=4).papers(rows, draws(3)))] == [6, 3, 2]
    with pytest.raises(ConfigError, match="nothing of a paper"):
        DynamicContextSettings.parse({"abstract": 0, "body": 0})


def test_a_manuscript_is_earlier_sentences_and_those_around_the_citation() -> None:
    found = read(dynamic().contexts(np.arange(10), draws(10)))
    place = BODIES + 50  # of position 100
    assert found[0][-3:] == [place - 1, place, place + 1]
    assert len(found[0]) == 30
    assert sorted(set(found[0])) == found[0]
    assert found[0][0] >= BODIES
    assert found[1] == [BODIES, BODIES + 1, BODIES + 2]
    assert found[2] == [BODIES, BODIES + 1]
    # Its own text, behind sentences from before position 100.
    assert found[3][-3:] == [CONTEXTS + 1, CONTEXTS + 2, CONTEXTS + 3]
    assert len(found[3]) == 30
    assert found[3][-4] < place
    assert found[4][-3:] == [place - 1, place, place + 1]
    assert found[5] == [BODIES + 100, BODIES + 101, BODIES + 102]
    assert read(dynamic(around=0, earlier=0).contexts(np.array([5, 6]), draws(2))) == [[BODIES + 102]] * 2
    assert found[6] == [BODIES + 100, BODIES + 101, BODIES + 102]
    assert found[7] == [CONTEXTS + 5, CONTEXTS + 6]
    assert found[8] == [0]
    assert found[9] == [CONTEXTS + 8, CONTEXTS + 9, CONTEXTS + 10]


def test_counts_of_a_manuscript_are_settings() -> None:
    numbers = np.array([0, 3, 8])
    found = read(dynamic(around=0, earlier=2, manuscript_abstract=2).contexts(numbers, draws(3)))
    assert found[0][:2] == [ABSTRACTS, ABSTRACTS + 1]
    assert found[0][4:] == [BODIES + 50]
    assert len(found[1]) == 5
    assert found[1][-1] == CONTEXTS + 2
    assert found[2] == [ABSTRACTS + 3, ABSTRACTS + 4]
    assert read(dynamic(around=2, earlier=0).contexts(numbers[:1], draws(1)))[0] == list(
        range(BODIES + 48, BODIES + 53)
    )


def test_a_manuscript_from_elsewhere_is_the_text_around_its_gap() -> None:
    own = TEXTS.contexts.take(np.array([9, 3, 0]))
    found = dynamic().manuscripts(np.full(3, NO_ROW), np.full(3, -1), draws(3), own)
    assert read(found) == [
        [CONTEXTS + 8, CONTEXTS + 9, CONTEXTS + 10],
        [CONTEXTS + 1, CONTEXTS + 2, CONTEXTS + 3],
        [0],
    ]


def test_the_words_next_to_a_gap_come_before_all_else() -> None:
    near = lists(40_000, len(TEXTS.contexts))
    texts = replace(TEXTS, contexts=replace(TEXTS.contexts, near=near))
    settings = DynamicContextSettings(earlier=4, manuscript_abstract=2, near=3)
    contexts = np.array([3, 0, 7, 9])
    found = DynamicContext(settings, texts).contexts(contexts, draws(4))
    without = read(DynamicContext(settings, TEXTS).contexts(contexts, draws(4)))
    assert read(found) == [
        [40_000 + context, *rest] for context, rest in zip(contexts.tolist(), without, strict=True)
    ]
    expected = DynamicContext(settings, texts).context_tokens()
    assert np.array_equal(expected, DynamicContext(settings, TEXTS).context_tokens() + near.counts)


def test_a_known_sentence_is_read_in_the_body_though_a_text_is_given() -> None:
    own = TEXTS.contexts.take(np.array([9]))
    found = dynamic(earlier=0).manuscripts(np.array([0]), np.array([100]), draws(1), own)
    assert read(found) == [[BODIES + 49, BODIES + 50, BODIES + 51]]


def counted(found: list[list[int]], first: int, size: int) -> NDArray[np.int64]:
    return np.array(
        [number - first for document in found for number in document if first <= number < first + size]
    )


def test_every_sentence_is_as_likely_as_another() -> None:
    rows = np.zeros(4000, np.int64)
    papers = read(dynamic(abstract=0, body=1).papers(rows, draws(4000)))
    assert fits(counted(papers, BODIES, 100), np.full(100, 0.01))
    manuscripts = read(dynamic(earlier=1).contexts(rows, draws(4000)))
    earlier = np.array([document[0] - BODIES for document in manuscripts])
    assert fits(earlier, np.full(49, 1 / 49))
    several = read(dynamic(abstract=0, body=30).papers(rows, draws(4000)))
    shares = np.bincount(counted(several, BODIES, 100), minlength=100) / 4000
    assert np.abs(shares - 0.3).max() < 0.04
    together = np.mean([BODIES in document and BODIES + 1 in document for document in several])
    assert together == pytest.approx(0.3 * 29 / 99, abs=0.02)


def test_draws_hang_on_the_numbers_given_alone() -> None:
    rows, numbers = np.array([0, 0, 1, 0]), np.array([0, 3, 7, 0])
    once, other = dynamic(), dynamic()
    papers, manuscripts = read(once.papers(rows, draws(4))), read(once.contexts(numbers, draws(4)))
    some = np.array([3, 1])
    assert read(other.papers(rows[some], draws(4).take(some))) == [papers[3], papers[1]]
    assert read(other.contexts(numbers[some], draws(4).take(some))) == [manuscripts[3], manuscripts[1]]
    assert papers[0] != papers[1]
    assert read(once.papers(rows, draws(4, epoch=1)))[0] != papers[0]
    assert read(once.contexts(numbers, draws(4, epoch=1)))[0] != manuscripts[0]


def test_fixed_contexts_are_always_the_same() -> None:
    fixed = dynamic(fixed=True)
    one = read(fixed.papers(np.array([0, 1, 0]), draws(3)))
    assert one[0] == one[2]
    assert read(fixed.papers(np.array([0]), draws(1, epoch=5)))[0] == one[0]
    found = read(fixed.contexts(np.array([0, 3, 0]), draws(3, epoch=1)))
    assert found[0] == found[2]
    assert found[0][:27] != found[1][:27]
    assert read(fixed.contexts(np.array([0]), draws(1)))[0] == found[0]


def test_lengths_are_told_beforehand() -> None:
    context = dynamic(earlier=5, abstract=2, body=7)
    rows, numbers = np.repeat(np.arange(5), 400), np.repeat(np.arange(10), 400)
    for documents, expected in (
        (context.papers(rows, draws(2000)), context.paper_tokens()),
        (context.contexts(numbers, draws(4000)), context.context_tokens()),
    ):
        true = (
            np.diff(documents.sentences.numpy()[documents.documents.numpy()])
            .reshape(len(expected), -1)
            .mean(1)
        )
        assert expected.shape == true.shape
        near = np.abs(expected - true) <= 0.1 * true + 3
        assert near.all()


def test_too_many_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cocite.systems.mp_bert4cr.dynamic_context.MOST", 2)
    with pytest.raises(ValueError, match="3 documents at once"):
        dynamic().papers(np.array([0, 1, 2]), draws(3))

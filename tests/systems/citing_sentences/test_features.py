from __future__ import annotations

import numpy as np

from cocite.systems.citing_sentences.features import Group, TextSentence, sentences_of, vectors

WIDTH = 2**16
TEXTS = [
    "We parse the whole treebank with trees.",
    "Others [[CIT:0]] parse it without any trees.",
    "3 | 4",
    "Our parser is described in the next section.",
]
HEADINGS = ["1 Introduction", "1 Introduction", "2 Data", "2 Data"]


def rows(sentences: list[TextSentence], *groups: Group) -> np.ndarray:
    return vectors([sentences], groups, WIDTH).toarray()


def test_debris_is_left_out_and_the_others_keep_their_numbers() -> None:
    found = sentences_of(TEXTS, HEADINGS)
    assert [one.number for one in found] == [0, 1, 3]
    assert [one.cites for one in found] == [False, True, False]


def test_no_word_sequence_goes_across_a_citation() -> None:
    [bare] = sentences_of(["Others parse it without any trees."], [""])
    [holed] = sentences_of(["Others [[CIT:0]] parse it without any trees."], [""])
    plain, cut = rows([bare], "words")[0] > 0, rows([holed], "words")[0] > 0
    # The holed sentence has the features of the whole one, less those that span the hole.
    assert not (cut & ~plain).any()
    assert (plain & ~cut).sum() == 2  # "others parse", "others parse it"


def test_where_a_citation_stood_is_not_seen() -> None:
    for group in ("words", "pieces", "section", "position", "surroundings", "novelty"):
        ends = [
            f"Trees help all of our parsers{end}" for end in (".", " [[CIT:0]].", " (Lee and Kim, 1999).")
        ]
        made = [rows(sentences_of([text], ["Data"]), group)[0] for text in ends]
        np.testing.assert_array_equal(made[0], made[1])
        np.testing.assert_array_equal(made[0], made[2])


def test_a_sentence_does_not_see_whether_it_cites_itself() -> None:
    marked = [*TEXTS[:3], TEXTS[3].replace(".", " [[CIT:1]].")]
    groups: tuple[Group, ...] = ("neighbours", "words", "surroundings", "section", "position", "novelty")
    plain = rows(sentences_of(TEXTS, HEADINGS), *groups)
    other = rows(sentences_of(marked, HEADINGS), *groups)
    np.testing.assert_array_equal(plain[2], other[2])
    assert (plain[1] != other[1]).any()


def test_neighbours_say_nothing_where_no_other_sentence_cites() -> None:
    assert not rows(sentences_of([TEXTS[0], TEXTS[3]], ["", ""]), "neighbours").any()
    assert not rows(sentences_of([TEXTS[1], TEXTS[3]], ["", ""]), "neighbours")[0].any()


def test_texts_do_not_see_each_other() -> None:
    one, other = sentences_of(TEXTS, HEADINGS), sentences_of(TEXTS[::-1], HEADINGS[::-1])
    groups: tuple[Group, ...] = ("words", "section", "position", "surroundings", "neighbours", "novelty")
    both = vectors([one, other], groups, WIDTH).toarray()
    np.testing.assert_array_equal(both, np.concatenate([rows(one, *groups), rows(other, *groups)]))
    assert vectors([], groups, WIDTH).shape == (0, WIDTH)


def test_a_word_is_new_once_in_a_text() -> None:
    said_twice = sentences_of(["We train it with SRILM on news."] * 2, [""] * 2)
    first, again = (set(np.flatnonzero(row)) for row in rows(said_twice, "novelty"))
    assert len(first) == 7 + 6 + 1  # words, pairs of words, and how many names are new
    assert len(again) == 1  # that no name is
    assert not first & again


def test_a_name_is_new_until_the_text_has_named_it() -> None:
    texts = ["We train it with SRILM on news.", "Then it is tuned on SRILM and GIZA."]
    named, other = rows(sentences_of(texts, [""] * 2), "novelty")
    unnamed = rows(sentences_of([texts[0].replace("SRILM", "tools"), texts[1]], [""] * 2), "novelty")[1]
    # Where the first sentence does not name it, the second has two new names instead of one, and a new word.
    assert (unnamed > 0).sum() == (other > 0).sum() + 1
    assert (named > 0).any()

from __future__ import annotations

import random
import string

import pytest

from cocite.text.sentences import split_sentences

TEXTS = [
    [
        "We follow Smith et al. (2009) and extend, e.g., the parser of Collins et al. in two ways.",
        "First, as Fig. 3 shows, the F-score rises by 2.5 points (cf. Sec. 4.1).",
        "Second, i.e. without features, it is faster.",
    ],
    [
        "Results are in Table 2.",
        "See Eq. 5, Eqs. (6) and (7), and Figs. 3 and 4.",
        "We use approx. 10 words.",
    ],
    ["J. R. Smith and K. W. Church proposed it vs. the U.S. baseline.", "The p-value was < 0.05."],
    ["What is co-citation?", "It is simple!", '"This is quoted."', "Then we go on."],
    ["It uses LIBSVM v. 2.8 with no. 5 settings.", "(See Appendix A.)", "We thank Dr. Jones."],
    ["This was done in [3], cf. Ref. 4 of it.", "The first was done by Smith et al.", "We did the rest."],
    ["Brown et al. 1993 describe IBM models 1-5.", "However, Och et al. (2003) do not [4, pp. 1-8]."],
    ["Rule-based translation TARGETCIT (e.g., OTHERCIT) fails (cf. OTHERCIT).", "So we do not."],
    ["A title without an end"],
]


@pytest.mark.parametrize("sentences", TEXTS)
def test_sentences_of_science_are_told_apart(sentences: list[str]) -> None:
    assert split_sentences([" ".join(sentences)]) == [sentences]


def test_a_space_before_a_bracket_hides_no_end() -> None:
    found = split_sentences(["It fails (e.g., TARGETCIT ). So do we ( see [ 3 ] ). The end."])
    assert found == [["It fails (e.g., TARGETCIT).", "So do we ( see [ 3]).", "The end."]]


def test_each_text_has_its_own_and_spaces_do_not_count() -> None:
    found = split_sentences(iter(["One \n here.\n\n Two\tthere.", "", "  \n", "."]))
    assert found == [["One here.", "Two there."], [], [], ["."]]


def test_no_character_is_lost_whatever_the_text() -> None:
    draw = random.Random(0)
    letters = string.printable + "…«»“”é?????..... \u00ad\u200b\ufffd漢字。"
    texts = ["".join(draw.choices(letters, k=draw.randrange(300))) for _ in range(300)]
    for text, sentences in zip(texts, split_sentences(texts), strict=True):
        assert "".join("".join(sentences).split()) == "".join(text.split())
        assert all(sentence.strip() == sentence != "" for sentence in sentences)

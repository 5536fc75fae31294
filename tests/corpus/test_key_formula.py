"""Citation keys by formulas of Better BibTeX."""

from __future__ import annotations

import re

import bibtexparser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.bibtex import citation_keys, entries
from cocite.corpus.key_formula import DEFAULT, FILTERS, FUNCTIONS, MAX_CHARS, KeyFormula
from cocite.corpus.records import PaperRecord
from cocite.errors import InputError

THREE = ("Ashish Vaswani", "Laurens van der Maaten", "Łukasz Weiß-Øre")
PAPER = PaperRecord("a", "On the attention: Is-all you need", year=2017, authors=THREE)
BARE = PaperRecord("b", "")


@pytest.mark.parametrize(
    ("formula", "key", "bare"),
    [
        (DEFAULT, "vaswaniAttentionIsallYou2017", "anon"),
        ("auth+year", "Vaswani2017", "anon"),
        ("  auth . lower( ) + '_' + year ", "vaswani_2017", "anon"),
        ("auth(3).upper + ':' + shortyear", "VAS:17", "anon"),
        ("auth(0, 2) + auth(2,3) + auth(1,4)", "vanderMaatenWe", "anon"),
        ("auth(1,0)", "anon", "anon"),
        ("authors", "VaswanivanderMaatenWeiss-Ore", "anon"),
        ("authors(2).lower", "vaswanivandermaatenetal", "anon"),
        ("authorsn(3).capitalize", "VaswaniVanDerMaatenWeiss-Ore", "anon"),
        ("authors(4)", "VaswanivanderMaatenWeiss-Ore", "anon"),
        ("shorttitle", "attentionIsallyou", "anon"),
        ("shorttitle(2,1)", "AttentionIsall", "anon"),
        ("shorttitle(0)", "anon", "anon"),
        ("veryshorttitle + title.capitalize", "attentionAttentionIsallYouNeed", "anon"),
        ("veryshorttitle(1,1)", "Attention", "anon"),
        ('"x" + year', "x2017", "x"),
        ("\"\" + year | 'none'", "2017", "none"),
        ("'-' + year", "-2017", "anon"),
    ],
)
def test_keys_by_formulas(formula: str, key: str, bare: str) -> None:
    made = KeyFormula.parse(formula)
    assert (made.key(PAPER), made.key(BARE)) == (key, bare)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (
            "",
            "mine, character 1: a function or a text in quotes is missing at the end .write it as auth.lower",
        ),
        ("auth +", "character 7: a function or a text in quotes is missing at the end"),
        ("auth + + year", r"character 8: a function or a text in quotes is missing before '\+ year'"),
        ("auth year", r"character 6: '\+' is missing before 'year'"),
        (
            "[auth:lower][year]",
            r"character 1: a function or a text in quotes is missing before '\[auth:lower",
        ),
        ("year + month", "character 8: cocite knows no function 'month' .known: auth, authors, .*shortyear"),
        ("Title", "cocite knows no function 'Title'"),
        ("auth.lower.fold", "character 12: cocite knows no filter 'fold' .known: lower, upper, capitalize"),
        ("auth.lower(3)", "character 11: '\\+' is missing before"),
        ("auth(1,2,3)", "character 1: 'auth' takes at most 2 whole numbers in brackets"),
        ("year(1)", "'year' takes nothing in brackets"),
        ("auth(n=1)", "'auth' takes at most 2 whole numbers in brackets"),
        ("auth(-1)", "'auth' takes at most 2 whole numbers in brackets"),
        ("auth(1000)", "'auth' takes at most 2 whole numbers in brackets"),
        ("auth(٣)", "'auth' takes at most 2 whole numbers in brackets"),
        ("auth + ' '", "character 8: a text in quotes has letters without accents"),
        ("'a{b'", "a text in quotes has letters without accents"),
        ("'é'", "a text in quotes has letters without accents"),
        ("'a\"", "a text in quotes has .* ends with its quote"),
        ("a" * (MAX_CHARS + 1), "mine: has more than 200 characters"),
    ],
)
def test_what_is_no_formula_is_refused_in_a_sentence(formula: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        KeyFormula.parse(formula, "mine")


NUMBERS = st.integers(0, 12)
CALLS = st.one_of(
    *(
        st.lists(NUMBERS, max_size=most).map(
            lambda given, name=name: f"{name}({','.join(map(str, given))})" if given else name
        )
        for name, (_, most) in FUNCTIONS.items()
    )
)
FUNCTION_TERMS = st.tuples(CALLS, st.lists(st.sampled_from([*FILTERS]), max_size=2)).map(
    lambda parts: ".".join([parts[0], *parts[1]])
)
TERMS = FUNCTION_TERMS | st.text("abZ09_:.+/-", max_size=3).map(lambda text: f"'{text}'")
FORMULAS = st.lists(st.lists(TERMS, min_size=1, max_size=4).map(" + ".join), min_size=1, max_size=2).map(
    " | ".join
)
PAPERS = st.builds(
    PaperRecord,
    st.just("a"),
    st.text(max_size=30)
    | st.sampled_from(["Parsing Trees", "parsing trees", "Über ½ ﬁne ⒈ title: <i>x</i>"]),
    year=st.sampled_from([0, 1999, 2001]),
    authors=st.lists(
        st.text(max_size=12) | st.sampled_from(["Ann Lee", "Li, Wei", "Google, Inc."]), max_size=3
    ).map(tuple),
)


@given(FORMULAS, st.lists(PAPERS, min_size=1, max_size=6), st.lists(st.sampled_from(["Lee1999", "anon"])))
def test_keys_are_plain_and_differ_whatever_the_formula(
    formula: str, papers: list[PaperRecord], taken: list[str]
) -> None:
    keys = citation_keys(papers, taken, formula)
    assert len({key.lower() for key in [*keys, *set(taken)]}) == len(papers) + len(set(taken))
    assert all(re.fullmatch(r"(?=.*[A-Za-z0-9])[A-Za-z0-9_:.+/-]+", key) for key in keys)


@given(FORMULAS)
def test_bibtex_reads_the_keys_back(formula: str) -> None:
    keys = citation_keys([PAPER, PAPER, BARE], form=formula)
    library = bibtexparser.parse_string(entries([PAPER] * 3, keys))
    assert (library.failed_blocks, [entry.key for entry in library.entries]) == ([], keys)


@given(st.text(max_size=40) | st.text("auth()+|.'\"0 ,lowery", max_size=40))
def test_any_text_is_a_formula_or_refused(text: str) -> None:
    try:
        formula = KeyFormula.parse(text)
    except InputError:
        return
    assert formula.key(PAPER)

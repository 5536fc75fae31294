"""Citation keys by formulas of Better BibTeX."""

from __future__ import annotations

import re

import bibtexparser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.bibtex import citation_keys, entries
from cocite.corpus.key_formula import DEFAULT, MAX_CHARS, KeyFormula
from cocite.corpus.key_formula_parts import FILTERS, FUNCTIONS, MAX_TEXT, Part
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
        # What follows is as the documentation of Better BibTeX describes each part.
        ("authEtal2 + year", "Vaswani.etal2017", "anon"),
        ("authetal2(sep='_').lower", "vaswani_etal", "anon"),
        ("authEtAl", "VaswaniEtAl", "anon"),
        ("authEtAl(sep=_)", "Vaswani_EtAl", "anon"),
        ("auth(n=3, m=2).fold", "van", "anon"),
        ("authors.fold.upper", "VASWANIVANDERMAATENWEISS-ORE", "anon"),
        ("authors.alphanum", "VaswanivanderMaatenWeissOre", "anon"),
        ("title.condense(_)", "attention_Isall_you_need", "anon"),
        ("title.condense( '-' ).lower", "attention-isall-you-need", "anon"),
        ("title.condense", "attentionIsallyouneed", "anon"),
        ("title.abbr", "aIyn", "anon"),
        ("title.capitalize.abbr(2)", "AtIsYoNe", "anon"),
        ("title.select(2,1)", "Isall", "anon"),
        ("title.select(n=2)", "attentionIsall", "anon"),
        ("title.select(3)", "youneed", "anon"),
        ("title.select(9, 2) + year", "2017", "anon"),
        ("auth(0,2).skipwords", "vanMaaten", "anon"),
        ("authEtal2.replace('.ETAL', '+etal')", "Vaswani+etal", "anon"),
        ('authEtal2.replace(find=".", replace=_).lower + shortyear', "vaswani_etal17", "anon"),
        ("title.replace(' ', '')", "attentionIsallyouneed", "anon"),
        ("auth.replace('', x)", "Vaswani", "anon"),
        ("[auth:lower][year]", "vaswani2017", "anon"),
        ("[auth:lower]_[year]", "vaswani_2017", "anon"),
        (" [auth3_2:upper] [shorttitle1_1:lower] | [title] ", "VANattention", "anon"),
        ("[auth.etal]-[shortyear]", "Vaswani.etal-17", "anon"),
        ("[title:select=2,2:condense=_]", "Isall_you", "anon"),
        ("[authors1:replace=etal,_al]|none", "Vaswani_al", "none"),
        ("[veryshorttitle]|x[year]", "attention", "x"),
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
        ("year + [auth:lower]", r"character 8: a function or a text in quotes is missing before '\[auth:low"),
        ("[auth", r"character 1: a field in brackets or plain text is missing before '\[auth'"),
        ("[auth]é", "character 7: a field in brackets or plain text is missing before 'é'"),
        ("[auth]|", "character 8: a field in brackets or plain text is missing beside '|'"),
        ("[auth:lower:nopunct]", "character 13: cocite knows no filter 'nopunct' .known: lower"),
        ("[auth:(x)]", "character 7: cocite knows no filter '.x.'"),
        ("[Auth]", "character 2: cocite knows no function 'Auth'"),
        ("[year3]", "character 2: 'year' takes nothing in brackets"),
        ("[title:select=x]", "character 8: 'select' takes at most 2 whole numbers in brackets"),
        ("[auth+initials]", "character 1: a field in brackets or plain text is missing before"),
        ("year + month", "character 8: cocite knows no function 'month' .known: auth, authors, .*shortyear"),
        ("Title", "cocite knows no function 'Title'"),
        ("auth.lower.ascii", "character 12: cocite knows no filter 'ascii' .known: lower, upper, capitalize"),
        ("auth.lower(3)", "character 6: 'lower' takes nothing in brackets"),
        ("auth.fold('german')", "character 6: 'fold' takes nothing in brackets"),
        ("authEtal2('_')", "character 1: 'authEtal2' takes nothing, or a text, as sep='_', in brackets"),
        ("authEtal2(sep=' ')", "'authEtal2' takes nothing, or a text"),
        ("authEtal2(sep=_, sep=_)", "'authEtal2' takes nothing, or a text"),
        ("auth.condense(a,b)", "'condense' takes at most 1 text in brackets"),
        ("auth.condense(1)", "'condense' takes at most 1 text in brackets"),
        ("auth.replace(a)", "'replace' takes 2 texts, the sought and the new one, in brackets"),
        ("auth.replace(a, '&')", "'replace' takes 2 texts, the sought and the new one, in brackets"),
        ("auth.replace(/[.]etal/, x)", "'replace' takes 2 texts, the sought and the new one, in brackets"),
        ("auth.replace('é', x)", "'replace' takes 2 texts, the sought and the new one, in brackets"),
        ("auth.select(-1)", "'select' takes at most 2 whole numbers in brackets"),
        ("auth.select(1,", "'select' takes at most 2 whole numbers in brackets"),
        ("auth.select(1 2)", "'select' takes at most 2 whole numbers in brackets"),
        ("auth(1,2,3)", "character 1: 'auth' takes at most 2 whole numbers in brackets"),
        ("year(1)", "'year' takes nothing in brackets"),
        ("auth(x=1)", "'auth' takes at most 2 whole numbers in brackets"),
        ("auth(1, n=1)", "'auth' takes at most 2 whole numbers in brackets"),
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


VALUES = {
    "number": st.integers(0, 12).map(str),
    "text": st.text("abZ09_:.+/-", max_size=3).map(lambda text: f"'{text}'"),
    "sought": st.text("abZ .&[", max_size=2).map(lambda text: f'"{text}"'),
}


def calls(parts: dict[str, Part]) -> st.SearchStrategy[str]:
    """Each part with arguments that it takes."""

    def written(name: str, part: Part) -> st.SearchStrategy[str]:
        every = st.tuples(
            *(VALUES[kind].map(lambda value, of=of: f"{of}={value}") for of, kind in part.parameters.items())
        )
        counts = st.integers(part.needs, len(part.parameters))
        return st.tuples(every, counts).map(
            lambda drawn: f"{name}({', '.join(drawn[0][: drawn[1]])})" if drawn[1] else name
        )

    return st.one_of(*(written(name, part) for name, part in parts.items()))


FUNCTION_TERMS = st.tuples(calls(FUNCTIONS), st.lists(calls(FILTERS), max_size=3)).map(
    lambda parts: ".".join([parts[0], *parts[1]])
)
TERMS = FUNCTION_TERMS | st.text("abZ09_:.+/-", max_size=3).map(lambda text: f"'{text}'")
FORMULAS = (
    st.lists(st.lists(TERMS, min_size=1, max_size=4).map(" + ".join), min_size=1, max_size=2)
    .map(" | ".join)
    .filter(lambda formula: len(formula) <= MAX_CHARS)
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


@given(st.text(max_size=40) | st.text("auth()+|.'\"0 ,lowery[]:_=", max_size=40))
def test_any_text_is_a_formula_or_refused(text: str) -> None:
    try:
        formula = KeyFormula.parse(text)
    except InputError:
        return
    assert formula.key(PAPER)


def test_no_formula_makes_a_key_without_end() -> None:
    longer = "title" + ".replace(t,tttttttttt)" * 8
    assert len(KeyFormula.parse(longer).key(PAPER)) <= MAX_TEXT * 10

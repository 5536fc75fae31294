from __future__ import annotations

from pathlib import Path

import pytest

from cocite.corpus.importers import open_source
from cocite.corpus.records import Malformed, PaperRecord


def read(path: Path, text: str | bytes) -> tuple[list[PaperRecord], list[tuple[str, int, str]]]:
    """The papers of a bibliography, and rule, line and reason of what is wrong with it."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    source = open_source(path)
    found = [(record, source.position.line) for record in source]
    papers = [record for record, _ in found if isinstance(record, PaperRecord)]
    return papers, [
        (record.rule, line, record.reason) for record, line in found if isinstance(record, Malformed)
    ]


@pytest.fixture
def bib(tmp_path: Path) -> Path:
    return tmp_path / "x.bib"


@pytest.mark.parametrize(
    ("text", "authors"),
    [
        ("A B and others", ("A B",)),
        ("Lee, K. and Ng, A. AND OTHERS", ("K. Lee", "A. Ng")),
        ("A B and et al.", ("A B",)),
        ("van der Berg, Jr., Jan and Charles de Gaulle", ("Jan van der Berg Jr.", "Charles de Gaulle")),
        (r"{\'E}tienne d'Alembert and Erd{\H o}s, P.", ("Étienne d'Alembert", "P. Erdős")),
        ("{Barnes and Noble, Inc.} and {others}", ("Barnes and Noble, Inc.", "others")),
        ("Donald~E. Knuth and a, b, c, d", ("Donald E. Knuth", "a, b, c, d")),
        ("", ()),
    ],
)
def test_names(bib: Path, text: str, authors: tuple[str, ...]) -> None:
    papers, _ = read(bib, f"@misc{{k, title = {{T}}, author = {{{text}}}}}")
    assert papers[0].authors == authors


def test_concatenation_braces_quotes_and_hash_signs(bib: Path) -> None:
    text = (
        '@string(venue = "Journal of " # {Things})\n'
        '@article(a, title = "The {"}C#{"} and {F\\#} # of " # {{B}races},\n'
        '  journal = venue # ", part~" # 2, month = jan # "~" # 1, year = 19 # 99)\n'
        "@misc{b, title = {A {nested {deep}} word \\{set\\}}, journal = undefined}\n"
    )
    papers, wrong = read(bib, text)
    assert papers[0].title == 'The "C#" and F# # of Braces'
    assert (papers[0].venue, papers[0].year) == ("Journal of Things, part 2", 1999)
    assert (papers[1].title, papers[1].venue) == ("A nested deep word {set}", "undefined")
    assert wrong == [("undefined_string", 4, "the abbreviation 'undefined' is not defined")]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (
            "@misc{x, title = {ok}}\n@article{k,\n year = 1999,\n title = {no end of {it},\n author = {A B}\n}\n",
            2,
            "the entry 'k' is not closed: a closing brace is missing in or after the field 'title' of line 4",
        ),
        (
            "@article{k, title = {no {end, year = {1999}}\n",
            1,
            "the entry 'k' is not closed: a brace or quotation mark stays open in the field 'title' of line 1",
        ),
        (
            '@article{k, title = "no end}\n',
            1,
            "the entry 'k' is not valid BibTeX: unbalanced braces in line 1, in the field 'title' of line 1",
        ),
        (
            "@article{k, title = {one}\n",
            1,
            "the entry 'k' is not closed: a closing brace is missing in or after the field 'title' of line 1",
        ),
        (
            "@article{k, title = {one}},\n author = {too many}}\n",
            1,
            "the entry 'k' ends before its field 'author': there is a closing brace too many",
        ),
        (
            "@article{k,\n title = {one}\n author = {two}}\n",
            1,
            "the entry 'k' is not valid BibTeX: a comma or '}' expected in line 3, after the field 'title' of line 2",
        ),
        (
            "@article{, title = {one}}\n",
            1,
            "an entry is not valid BibTeX: an entry key expected in line 1, after its key",
        ),
    ],
)
def test_a_broken_entry_is_rejected_with_a_reason_and_what_follows_is_read(
    bib: Path, text: str, line: int, reason: str
) -> None:
    papers, wrong = read(bib, text + "@misc{next, title = {Next}}\n")
    assert papers[-1].title == "Next"
    assert wrong == [("malformed", line, reason)]


def test_a_field_given_twice_is_counted(bib: Path) -> None:
    papers, wrong = read(bib, "@misc{k, title = {one}, Title = {two}}")
    assert papers[0].title == "one"
    assert wrong == [("repeated_field", 1, "the entry 'k' has 'Title' twice")]


@pytest.mark.parametrize(
    ("fields", "doi"),
    [
        (r"doi = {10.1007/978-3-540\_12}", "10.1007/978-3-540_12"),
        ("doi = {https://doi.org/10.1/A--b}", "10.1/A--b"),
        ("doi = {doi: 10.1/<1::2>3.0;CO#4}", "10.1/<1::2>3.0;CO#4"),
        ("eprint = {1706.03762v5}, archivePrefix = {arXiv}", "10.48550/arXiv.1706.03762"),
        ("eprint = {cs/0501001}, eprinttype = arxiv", "10.48550/arXiv.cs/0501001"),
        ("eprint = {1706.03762}, archivePrefix = {arXiv}, doi = {10.1/x}", "10.1/x"),
        ("eprint = {12345}, eprinttype = {hdl}", ""),
    ],
)
def test_dois_and_arxiv_numbers(bib: Path, fields: str, doi: str) -> None:
    assert read(bib, f"@misc{{k, title = {{T}}, {fields}}}")[0][0].doi == doi


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ("title = {Parsing}, subtitle = {A {BERT} Survey}", "Parsing: A BERT Survey"),
        ("title = {Why Parse?}, subtitle = {A Survey}", "Why Parse? A Survey"),
        ("title = {Parsing}, subtitle = {}", "Parsing"),
        ("subtitle = {A Survey}", "A Survey"),
    ],
)
def test_the_subtitle_of_biblatex_is_part_of_the_title(bib: Path, fields: str, title: str) -> None:
    [paper], _ = read(bib, f"@article{{a, {fields}}}")
    assert paper.title == title

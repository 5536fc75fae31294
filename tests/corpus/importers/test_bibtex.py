"""Bibliographies as they come: other encodings, crossrefs, concatenations, and entries that are broken."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cocite.corpus.builder import build
from cocite.corpus.importers import bibtex, detect, open_source
from cocite.corpus.records import Malformed, PaperRecord
from cocite.errors import InputError

BIB = r"""% a comment, me@host (home)
@string{acl = "Annual Meeting of the ACL"}
@inproceedings{devlin, title = {{BERT}: G{\"o}del}, author = {Devlin, Jacob and Toutanova, Kristina and {Some Group}},
  year = 2019, booktitle = acl, keywords = {x, y; z}, doi = {10.1/a}}
@article{devlin, title = {again}}
@article{broken, title = {no end
@misc{late, title = {After the break}, date = {2020-05-01}, journal = {J}}
"""


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


def test_entries_and_a_broken_one(bib: Path) -> None:
    papers, wrong = read(bib, BIB)
    assert detect(bib) == "bibtex"
    authors = ("Jacob Devlin", "Kristina Toutanova", "Some Group")
    acl = "Annual Meeting of the ACL"
    assert papers[0] == PaperRecord(
        "devlin", "BERT: Gödel", "", 2019, acl, authors, ("x", "y", "z"), "10.1/a"
    )
    assert (papers[-1].id, papers[-1].year, papers[-1].venue) == ("late", 2020, "J")
    assert [(rule, line) for rule, line, _ in wrong] == [("malformed", 6)]
    rules = build(open_source(bib), bib.parent / "store").counts["rules"]
    assert {name: n for name, n in rules.items() if n} == {"malformed": 1, "duplicate_id": 1}


def test_gzipped_with_strings_and_line_numbers(tmp_path: Path) -> None:
    entries = "".join(f"@article{{k{i},\n title = {{T {i}}}, journal = ABC}}\n" for i in range(20))
    with gzip.open(tmp_path / "x.bib.gz", "wt") as file:
        file.write('@string{abc = "Alphabet"}\n' + entries)
    source = open_source(tmp_path / "x.bib.gz")
    found = [(r.id, r.venue, source.position.line) for r in source if isinstance(r, PaperRecord)]
    assert found == [(f"k{i}", "Alphabet", 2 + 2 * i) for i in range(20)]


def test_a_gzipped_file_that_is_cut_short(tmp_path: Path) -> None:
    text = "".join(f"@article{{k{i}, title = {{{hash(i * 7919)}}}}}\n" for i in range(2000)).encode()
    path = tmp_path / "x.bib.gz"
    path.write_bytes(gzip.compress(text)[:-3000])
    with pytest.raises(InputError, match="damaged or cut short"):
        list(open_source(path))


def test_latin_1_keeps_its_accents_and_is_counted(bib: Path) -> None:
    text = "@article{a, author = {Müller, Jörg}, title = {naïve “quote”}}\n@article{b, title = {plain}}\n"
    papers, wrong = read(bib, text.encode("cp1252"))
    assert (papers[0].title, papers[0].authors) == ("naïve “quote”", ("Jörg Müller",))
    assert [(rule, line) for rule, line, _ in wrong] == [("not_utf8", 1)]
    assert read(bib, b"\xef\xbb\xbf" + text.encode()) == (papers, [])
    # Both encodings in one file, as when two files were put together.
    mixed = "@article{u, title = {Ångström 中文}}\n".encode() + text.encode("latin-1", "ignore")
    papers, wrong = read(bib, mixed)
    assert [paper.title for paper in papers] == ["Ångström 中文", "naïve quote", "plain"]
    assert [(rule, line) for rule, line, _ in wrong] == [("not_utf8", 2)]


CHILD = "@inproceedings{child, title = {Child}, author = {A B}, crossref = {PROC}}\n"


PARENT = "@proceedings{Proc, title = {Proceedings of X}, editor = {E F}, year = 2001, doi = {10.1/whole}}\n"


@pytest.mark.parametrize("text", [CHILD + PARENT, PARENT + CHILD])
def test_a_crossref_is_resolved_wherever_the_parent_stands(bib: Path, text: str) -> None:
    papers, wrong = read(bib, text)
    child = next(paper for paper in papers if paper.id == "child")
    assert (child.title, child.venue, child.year, child.authors) == (
        "Child",
        "Proceedings of X",
        2001,
        ("A B",),
    )
    assert child.doi == ""
    assert not wrong


def test_crossrefs_over_two_levels_in_a_circle_and_to_nowhere(bib: Path) -> None:
    text = (
        '@string{x = "Proc of "}\n'
        "@inproceedings{a, title = {A}, crossref = b}\n"
        "@inproceedings{a, title = {A}, crossref = {b}}\n"
        "@proceedings{b, title = {B}, booktitle = x # {B}, crossref = {c}}\n"
        "@book{c, title = {C}, year = 1999, publisher = {P}, crossref = {b}}\n"
        "@inproceedings{d, title = {D}, crossref = {nowhere}, year = 2000}\n"
    )
    papers, wrong = read(bib, text)
    assert [(paper.id, paper.venue, paper.year) for paper in papers[1:]] == [
        ("a", "Proc of B", 1999),
        ("b", "Proc of B", 1999),
        ("c", "Proc of B", 1999),
        ("d", "", 2000),
    ]
    assert ("unknown_crossref", 6, "the entry 'd' refers to 'nowhere', which the file does not hold") in wrong


def test_only_entries_that_are_referred_to_are_kept_in_memory(bib: Path) -> None:
    bib.write_text(CHILD * 50 + PARENT + "".join(f"@misc{{m{i}, title = {{T}}}}\n" for i in range(500)))
    assert set(bibtex._parents(lambda: (text for *_, text in bibtex._blocks(bib)))) == {"proc"}

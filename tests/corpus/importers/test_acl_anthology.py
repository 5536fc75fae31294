from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from helpers.records import hits
from helpers.staged import import_parts
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.importers.acl_anthology import anthology_id
from cocite.corpus.records import PaperRecord
from cocite.errors import InputError

OLD = """<?xml version='1.0' encoding='UTF-8'?>
<collection id="P18">
  <volume id="1" ingest-date="2019-01-01">
    <meta>
      <booktitle>Proceedings of the 56th Annual Meeting (Volume 1: <fixed-case>L</fixed-case>ong)</booktitle>
      <editor><first>Iryna</first><last>Gurevych</last></editor>
      <year>2018</year>
    </meta>
    <frontmatter><url hash="56f9">P18-1000</url><bibkey>acl-2018</bibkey></frontmatter>
    <paper id="1">
      <title>Probabilistic <fixed-case>F</fixed-case>ast<fixed-case>T</fixed-case>ext for
        <i>n</i>-grams &amp; <tex-math>O(n^2)</tex-math> time</title>
      <author id="ben-a"><first>Ben</first><last>Athi<b>w</b></last>
        <variant script="hani"><first>A</first><last>B</last></variant></author>
      <author><first/><last>Anandkumar</last></author>
      <author><first/><last/></author>
      <pages>1–11</pages>
      <abstract>We <b>introduce</b> it (<url>https://a.b</url>).</abstract>
      <url hash="ea41">P18-1001</url>
      <doi>10.18653/v1/P18-1001</doi>
      <bibkey>athiwaratkun-etal-2018-probabilistic</bibkey>
    </paper>
    <paper id="2"><title>Second</title></paper>
  </volume>
  <volume id="2"><meta><booktitle>Short</booktitle></meta>
    <paper id="10"><title>Third</title><year>2017</year></paper>
  </volume>
  <event id="acl-2018"><meta><title>An event</title><year>1999</year></meta></event>
</collection>
"""
NEW = """<collection id="2020.tacl"><volume id="1" type="journal">
<meta><booktitle>Volume 8</booktitle><journal-title>TACL</journal-title><year>2020</year></meta>
<paper id="3"><title>New</title></paper></volume></collection>
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_papers_of_a_collection(tmp_path: Path) -> None:
    path = write(tmp_path / "P18.xml", OLD)
    assert detect(path) == "acl-anthology"
    venue = "Proceedings of the 56th Annual Meeting (Volume 1: Long)"
    source = open_source(path)
    found = [(source.position.line, record) for record in source]
    assert found == [
        (
            10,
            PaperRecord(
                "P18-1001",
                "Probabilistic FastText for n-grams & $O(n^2)$ time",
                "We introduce it (https://a.b).",
                2018,
                venue,
                ("Ben Athiw", "Anandkumar"),
                doi="10.18653/v1/P18-1001",
            ),
        ),
        (23, PaperRecord("P18-1002", "Second", year=2018, venue=venue)),
        (26, PaperRecord("P18-2010", "Third", year=2017, venue="Short")),
    ]
    assert source.done == source.total == path.stat().st_size


def test_a_folder_of_collections_packed_and_not(tmp_path: Path) -> None:
    folder = tmp_path / "xml"
    write(folder / "P18.xml", OLD)
    write(folder / "README.md", "about")
    write(folder / "schema.rnc", "collection = element")
    (folder / "2020.tacl.xml.gz").write_bytes(gzip.compress(NEW.encode()))
    # A compressed file may be of any format, so beside it no other suffix is taken for data.
    assert [paper.id for paper in open_source(folder) if isinstance(paper, PaperRecord)] == ["2020.tacl-1.3"]
    (folder / "2020.tacl.xml.gz").unlink()
    write(folder / "2020.tacl.xml", NEW)
    assert detect(folder) == "acl-anthology"
    corpus = build(open_source(folder), tmp_path / "store")
    papers = corpus.papers_at(range(len(corpus)))
    assert [paper.id for paper in papers] == ["2020.tacl-1.3", "P18-1001", "P18-1002", "P18-2010"]
    assert papers[0].venue == "TACL"
    assert hits(corpus) == {"unread_file": 1}
    assert import_parts(folder, tmp_path / "parts" / "store", 1).version == corpus.version


@pytest.mark.parametrize(
    ("parts", "id_"),
    [
        (("P18", "1", "1"), "P18-1001"),
        (("J95", "1", "12"), "J95-1012"),
        (("W18", "5", "12"), "W18-0512"),
        (("W18", "63", "101"), "W18-63101"),
        (("C69", "1", "2"), "C69-0102"),
        (("D19", "1", "2"), "D19-1002"),
        (("D19", "57", "2"), "D19-5702"),
        (("2020.acl", "main", "447"), "2020.acl-main.447"),
        (("2021.findings", "emnlp", "1"), "2021.findings-emnlp.1"),
    ],
)
def test_ids_are_those_of_the_anthology(parts: tuple[str, str, str], id_: str) -> None:
    assert anthology_id(*parts) == id_


def test_what_is_rejected_is_counted(tmp_path: Path) -> None:
    papers = [
        '<paper id="1"><title>A</title></paper>',
        '<paper id="1"><title>Again</title></paper>',
        "<paper><title>No number</title></paper>",
        "<paper><title>B</title><bibkey>key-2010</bibkey></paper>",
        '<paper id="2"><title> <b/> </title></paper>',
        '<paper id="3"/>',
    ]
    text = f'<collection id="P10"><volume id="1"><meta/>{"".join(papers)}</volume></collection>'
    corpus = build(open_source(write(tmp_path / "x.xml", text)), tmp_path / "store")
    assert [paper.id for paper in corpus.papers_at(range(len(corpus)))] == ["P10-1001", "key-2010"]
    assert hits(corpus) == {"duplicate_id": 1, "missing_id": 1, "empty_title": 2}


def test_other_xml_is_refused(tmp_path: Path) -> None:
    for text in ('<collection xmlns="http://www.loc.gov/MARC21/slim"><record/></collection>', "<a id='1'/>"):
        with pytest.raises(InputError, match="the format is not recognised: this is XML"):
            detect(write(tmp_path / "x.xml", text))
    with pytest.raises(InputError, match=r"x\.xml:1: the outermost element is <a>, not <collection>"):
        list(open_source(tmp_path / "x.xml", "acl-anthology"))


def test_a_file_cut_short_ends_the_import(tmp_path: Path) -> None:
    path = write(tmp_path / "P18.xml", OLD[: OLD.index('<volume id="2">')])
    with pytest.raises(InputError, match=r"P18\.xml:25: not valid XML: no element found"):
        build(open_source(path), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_xml_is_read_where_a_folder_has_no_other_data(tmp_path: Path) -> None:
    write(tmp_path / "in" / "P18.xml", OLD)
    write(tmp_path / "in" / "a.csv", "id,title\na,A\n")
    corpus = build(open_source(tmp_path / "in"), tmp_path / "store")
    assert (len(corpus), hits(corpus)) == (1, {"unread_file": 1})


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=12)
NAMES = st.tuples(WORDS, WORDS)
PAPER = st.tuples(st.lists(WORDS, max_size=4), st.lists(NAMES, max_size=3), WORDS)
MARKUP = ("<b>{}</b>", "<i>{}</i>", "{}", "<fixed-case>{}</fixed-case>", "<span class='x'>{}</span>")


@given(st.lists(st.tuples(st.integers(1900, 2100), st.lists(PAPER, max_size=3)), max_size=3))
def test_papers_are_those_of_their_volumes_whatever_their_markup(
    tmp_path: Path, volumes: list[tuple[int, list[Any]]]
) -> None:
    def paper(number: int, pieces: list[str], names: list[tuple[str, str]], abstract: str) -> str:
        title = "".join(MARKUP[i].format(escape(piece)) for i, piece in enumerate(pieces))
        authors = (f"<author><first>{escape(a)}</first><last>{escape(b)}</last></author>" for a, b in names)
        return (
            f'<paper id="{number}"><title>{title}</title>{"".join(authors)}'
            f"<abstract>{escape(abstract)}</abstract></paper>"
        )

    written = "".join(
        f'<volume id="{number}"><meta><year>{year}</year></meta>'
        + "\n".join(paper(n, *content) for n, content in enumerate(papers, 1))
        + "</volume>"
        for number, (year, papers) in enumerate(volumes, 1)
    )
    path = write(tmp_path / "x.xml", f'<collection id="P18">\n{written}</collection>')
    found = list(open_source(path, "acl-anthology"))

    def line(text: str) -> str:
        return " ".join(text.split())

    assert found == [
        PaperRecord(
            f"P18-{volume}{n:03d}",
            line("".join(pieces)),
            line(abstract),
            year,
            authors=tuple(filter(None, (line(f"{line(a)} {line(b)}") for a, b in names))),
        )
        for volume, (year, papers) in enumerate(volumes, 1)
        for n, (pieces, names, abstract) in enumerate(papers, 1)
    ]

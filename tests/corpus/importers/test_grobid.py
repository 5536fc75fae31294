from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from helpers.records import hits, rejects
from helpers.tei import cite, reference, tei
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.records import Malformed, PaperRecord
from cocite.errors import InputError


def write(folder: Path, **documents: str) -> Path:
    """A folder with a file for each document."""
    folder.mkdir(exist_ok=True)
    for name, text in documents.items():
        (folder / f"{name}.tei.xml").write_text(text, encoding="utf-8")
    return folder


def links(folder: Path) -> dict[str, tuple[str, ...]]:
    """Id of each paper -> ids of those it cites."""
    return {r.id: r.citations for r in open_source(folder) if isinstance(r, PaperRecord)}


BODY = f"<div><head>Intro</head><p>As {cite(0)} and {cite(3, '[4]')} say. So {cite(2, '[3]')}.</p></div>"
CITING = tei(
    "A paper",
    body=BODY,
    references=[
        reference("Other words", DOI="https://doi.org/10.1/B"),
        reference("Other words", arXiv="arXiv:1001.0001v2"),
        reference("ÜBER  bert: a study."),
        reference("A work outside of the folder", DOI="10.9/x"),
        reference(),
    ],
)
CITED = {
    "b": tei("B", ids={"DOI": "10.1/b"}),
    "c": tei("C", ids={"arXiv": "arXiv:1001.0001v1 [cs.CL]"}),
    "d": tei("Uber BERT - a study"),
}


def test_references_are_links_to_papers_of_the_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", a=CITING, **CITED)
    assert detect(folder) == "grobid"
    first, unmatched, *_ = open_source(folder)
    assert first == PaperRecord("a", "A paper", citations=("b", "c", "d"))
    reason = "2 of 5 references of a are no papers of the folder"
    assert unmatched == Malformed(reason, "listBibl", "unmatched_citation", count=2)
    corpus = build(open_source(folder), tmp_path / "store")
    assert corpus.cites[0].tolist() == [1, 2, 3]
    assert corpus.counts["contexts"] == 2
    assert hits(corpus) == {"unmatched_citation": 2}


def test_the_doi_goes_before_the_number_and_the_title(tmp_path: Path) -> None:
    entries = [
        reference("Uber BERT a study", DOI="10.1/b", arXiv="1001.0001"),
        reference("Uber BERT a study", arXiv="1001.0001"),
        reference("Uber BERT a study", DOI="10.9/x"),
        reference(DOI="10.48550/arXiv.1001.0001"),
    ]
    for number, id_ in enumerate("bcdc"):
        folder = write(tmp_path / "in", a=tei("A", references=[entries[number]]), **CITED)
        assert links(folder)["a"] == (id_,)


def test_a_title_of_several_papers_or_of_one_word_matches_nothing(tmp_path: Path) -> None:
    entries = [reference("One title"), reference("Editorial")]
    twice = {"b": tei("One title"), "c": tei("one title"), "d": tei("Editorial")}
    assert links(write(tmp_path / "in", a=tei("A", references=entries), **twice))["a"] == ()


def test_of_several_papers_with_one_doi_the_first_is_cited(tmp_path: Path) -> None:
    twice = {name: tei(name, ids={"DOI": "10.1/b"}) for name in "bc"}
    entries = [reference(DOI="10.1/B")]
    assert links(write(tmp_path / "in", a=tei("A", references=entries), **twice))["a"] == ("b",)


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("P18-1001.tei.xml", "P18-1001"),
        ("P18-1001.grobid.tei.xml", "P18-1001"),
        ("1706.03762.xml", "1706.03762"),
        ("1706.03762.TEI.XML", "1706.03762"),
        ("a.tei.xml.gz", "a"),
        ("2018/a.xml", "2018/a"),
    ],
)
def test_a_paper_is_named_by_its_file(tmp_path: Path, name: str, id_: str) -> None:
    path = tmp_path / "in" / name
    path.parent.mkdir(parents=True)
    data = tei("A").encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert list(links(tmp_path / "in")) == [id_]
    assert list(links(path)) == [id_.rpartition("/")[2]]


ENTITIES = '<!DOCTYPE TEI [<!ENTITY a "A">]><TEI><teiHeader/></TEI>'


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("<TEI><teiHeader>\n", 2, "not valid XML: no element found"),
        (CITING.replace("</body>", ""), 8, "not valid XML: mismatched tag"),
        ("<teiCorpus><TEI/></teiCorpus>", 1, "the outermost element is <teiCorpus>, not <TEI>"),
        (ENTITIES, 1, "the DOCTYPE holds declarations, such as entities, which are not read"),
        ("<TEI><text/></TEI>", 1, "there is no <teiHeader>"),
        ("", 1, "not valid XML: no element found"),
    ],
)
def test_a_file_that_cannot_be_read_is_rejected_alone(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    folder = write(tmp_path / "in", a=CITING, bad=text, **CITED)
    corpus = build(open_source(folder), tmp_path / "store", rejects=tmp_path / "rejects.jsonl")
    assert len(corpus) == 4
    assert hits(corpus) == {"malformed": 1, "unmatched_citation": 2}
    [bad] = [entry for entry in rejects(tmp_path / "rejects.jsonl") if entry["rule"] == "malformed"]
    assert bad["file"] == "bad.tei.xml"
    assert (bad["line"], bad["reason"]) == (line, reason)


def test_a_damaged_compressed_file_is_rejected_alone(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in CITED.items():
        (folder / f"{name}.xml.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "b.xml.gz").write_bytes((folder / "b.xml.gz").read_bytes()[:-20])
    assert hits(build(open_source(folder, "grobid"), tmp_path / "store")) == {"malformed": 1}


def test_what_is_rejected_is_counted(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", a=tei("A"), b=tei(" "))
    (folder / "a.xml").write_text(tei("Again"))
    (folder / "a.txt").write_text("[GENERAL] An exception occurred")
    corpus = build(open_source(folder), tmp_path / "store")
    assert hits(corpus) == {"unread_file": 1, "duplicate_id": 1, "empty_title": 1}


def test_a_source_of_another_format_has_no_paper(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": "a", "title": "A"}')
    with pytest.raises(InputError, match="no paper can be kept"):
        build(open_source(tmp_path / "x.jsonl", "grobid"), tmp_path / "store")
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match=r"holds no \.xml file"):
        open_source(tmp_path / "none", "grobid")


NUMBERS = st.lists(st.integers(0, 5), max_size=6)


@given(st.lists(NUMBERS, min_size=1, max_size=4), st.sampled_from(["DOI", "arXiv", "title"]))
def test_links_are_those_of_the_references_by_any_name(
    tmp_path_factory: pytest.TempPathFactory, cited: list[list[int]], by: str
) -> None:
    def name(number: int) -> str:
        return {"DOI": f"10.1/x{number}", "arXiv": f"1001.000{number}"}[by]

    def entry(number: int) -> str:
        return reference(f"Title {number}") if by == "title" else reference("", **{by: name(number)})

    documents = {
        f"p{paper}": tei(
            f"Title {paper}",
            ids={} if by == "title" else {by: name(paper)},
            body="<div><p>" + " word ".join(cite(at) for at in range(len(numbers))) + "</p></div>",
            references=[entry(number) for number in numbers],
        )
        for paper, numbers in enumerate(cited)
    }
    folder = write(tmp_path_factory.mktemp("tei") / "in", **documents)
    records = list(open_source(folder))
    papers = [record for record in records if isinstance(record, PaperRecord)]
    assert [paper.citations for paper in papers] == [
        tuple(f"p{number}" for number in numbers if number < len(cited)) for numbers in cited
    ]
    unmatched = sum(record.count for record in records if isinstance(record, Malformed))
    assert unmatched == sum(number >= len(cited) for numbers in cited for number in numbers)

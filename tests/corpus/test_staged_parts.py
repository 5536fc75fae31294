"""However a source is cut, the store, the counts, the rejects and the error are those of an import in one part."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.pdf_files import article_file
from helpers.records import WORKS, write_lines
from helpers.s2orc import full_text
from helpers.staged import import_parts, one_part, outcome
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.corpus import share, staged_parts
from cocite.corpus.importers import open_source
from cocite.corpus.rules import Limits
from cocite.corpus.share import TABLES
from cocite.corpus.starter import PAPERS

IDS = st.sampled_from(["a", "b", "c", "d", "e", "f"])
ANY_ID = IDS | st.sampled_from(["x", "y", " a ", "", "\ud800"])
YEARS = st.sampled_from([1990, 1991, 1992, 2000, 99, "soon", None])
TEXTS = st.sampled_from(["", "as [CIT] says", "bad\u0001 text", "long " * 40])
CONTEXT = {"cited": st.lists(ANY_ID, min_size=1, max_size=3), "context": TEXTS}
LINES = st.one_of(
    st.fixed_dictionaries(
        {"id": IDS, "title": st.sampled_from(["A title", ""]), "citations": st.lists(ANY_ID, max_size=4)},
        optional={
            "year": YEARS,
            "colour": st.just(1),
            "split": st.sampled_from(["train", "test"]),
            "contexts": st.lists(st.fixed_dictionaries(CONTEXT, optional={"refs": st.just(1)}), max_size=2),
            "sentences": st.lists(TEXTS, max_size=2),
        },
    ),
    st.fixed_dictionaries(
        {"citing": ANY_ID, **CONTEXT}, optional={"id": st.sampled_from(["k1", "k2", "a/1"])}
    ),
    st.fixed_dictionaries({"citing": ANY_ID, "cited": ANY_ID}),
    st.fixed_dictionaries({"paper": ANY_ID, "text": TEXTS, "position": st.integers(0, 3)}),
    st.sampled_from(["no JSON", "", "[1]", '{"id": 1, "id": 2}']),
)
SHORT = Limits(context=60, id=40)


def both(tmp_path: Path, source: Path, size: int, **options: Any) -> list[dict[str, Any]]:
    ways = (one_part, partial(import_parts, size=size), partial(import_parts, size=size, divided=True))
    one, many, divided = (outcome(tmp_path / "at", partial(way, source), **options) for way in ways)
    assert many == divided
    return [one, many]


@settings(max_examples=60)
@given(
    st.lists(LINES, min_size=1, max_size=25),
    st.sampled_from([1, 60, 150, 400]),
    st.sampled_from([1, 3, 8192]),
    st.booleans(),
)
def test_lines(tmp_path: Path, lines: list[Any], size: int, records: int, strict: bool) -> None:
    source = write_lines(tmp_path / "x.jsonl", [{"id": "z", "title": "First"}, *lines])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(share, "RECORDS", records)
        one, many = both(tmp_path, source, size, strict=strict, limits=SHORT)
    assert one == many


def test_all_rules_of_lines_are_met(tmp_path: Path) -> None:
    """The property above is worth something: its kinds of lines meet most of the rules in one source."""
    paper: dict[str, Any] = {"id": "a", "title": "A", "year": 1990}
    lines: list[Any] = [
        paper | {"citations": ["a", "x", "b", "b", ""], "contexts": [{"cited": "b", "context": "c [CIT]"}]},
        paper,
        {
            "id": "b",
            "title": "B\ud800",
            "year": 2005,
            "colour": 1,
            "citations": ["a", "a"],
            "sentences": ["", "long " * 2000],
        },
        {"citing": "b", "cited": ["a", "x", "b"], "context": "t [CIT]"},
        {"citing": "b", "cited": ["x"], "context": "t [CIT]"},
        {"citing": "q", "cited": ["a"], "context": "t [CIT]"},
        {"citing": "b", "cited": ["a"], "context": "t [CIT]", "id": "a/0"},
        {"citing": "b", "cited": ["a"], "context": " "},
        {"citing": "q", "cited": "a"},
        {"paper": "q", "text": "t"},
        {"id": "c", "title": "", "year": 99},
        "no JSON",
    ]
    source = write_lines(tmp_path / "x.jsonl", lines)
    one, many = both(tmp_path, source, 1)
    assert one == many
    met = {name for name, n in json.loads(one["manifest.json"])["meta"]["counts"]["rules"].items() if n}
    assert met == {
        "malformed", "unknown_field", "duplicate_id", "empty_title", "broken_unicode", "too_long",
        "self_citation", "duplicate_citation", "unknown_citation", "unknown_citing", "later_citation",
        "duplicate_context", "empty_context", "context_of_unknown_paper", "context_without_cited",
        "context_unknown_cited", "sentence_of_unknown_paper", "empty_sentence",
    }  # fmt: skip


def test_several_files_packed_and_not(tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    lines = [{"id": f"p{n}", "title": f"T{n}", "citations": [f"p{n // 2}"]} for n in range(40)]
    nameless = [{"citing": f"p{n}", "cited": "p1", "context": f"c{n} [CIT]"} for n in range(40)]
    write_lines(folder / "1.jsonl", [*lines[:20], *nameless[:20]])
    write_lines(folder / "2.jsonl.gz", [*nameless[20:], "no JSON"])
    (folder / "3.json").write_text(json.dumps([*lines[15:], 7], indent=1))
    (folder / "notes.txt").write_text("unread")
    one, many = both(tmp_path, folder, 100)
    assert one == many
    assert json.loads(one["manifest.json"])["meta"]["counts"]["contexts"] == 39  # p1 cites itself in one


@pytest.mark.parametrize("strict", [False, True])
def test_a_damaged_file_ends_the_import_where_it_stands(tmp_path: Path, strict: bool) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    good = [{"id": f"{n}", "title": "T"} for n in range(30)]
    write_lines(folder / "1.jsonl", [*good, {"id": "", "title": "no id"}])
    (folder / "2.json").write_text(json.dumps(good, indent=1)[:-2] + ',\n {"id": }]')
    one, many = both(tmp_path, folder, 30, strict=strict)
    assert one == many
    assert ("missing_id" if strict else "not valid JSON") in one["error"]
    assert "rejects.jsonl" in one


def works(tmp_path: Path) -> Path:
    assert tmp_path.is_dir()
    return WORKS


def starter(tmp_path: Path) -> Path:
    assert tmp_path.is_dir()
    return PAPERS


def citeomatic(tmp_path: Path) -> Path:
    values = [{"id": f"{n}", "title": f"T{n}", "outCitations": [f"{n - 1}", "?"]} for n in range(9)]
    return write_lines(tmp_path / "corpus.json", [*values, values[3]])


def aminer(tmp_path: Path) -> Path:
    values = [{"id": n, "title": f"T{n}", "n_citation": 0, "references": [n - 1, 99]} for n in range(9)]
    return write_lines(tmp_path / "dblp-ref-0.json", [*values, values[3]])


def hatten(tmp_path: Path) -> Path:
    folder = tmp_path / "acl"
    folder.mkdir(exist_ok=True)
    contents = {
        "papers": {f"p{n}": {"title": f"T{n}", "abstract": "A"} for n in range(9)},
        "contexts": {f"c{n}": {"masked_text": "as TARGETCIT", "citing_id": f"p{n}"} for n in range(10)},
        "test": [{"context_id": f"c{n}", "positive_ids": ["p1"]} for n in range(9)],
    }
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def references(tmp_path: Path) -> Path:
    folder = tmp_path / "ris"
    folder.mkdir(exist_ok=True)
    for name in "ab":
        lines = [f"TY  - JOUR\nID  - {name}{n % 4}\nTI  - T{n}\nER  - \n" for n in range(5)]
        (folder / f"{name}.ris").write_text("".join(lines))
    return folder


def anthology(tmp_path: Path) -> Path:
    folder = tmp_path / "xml"
    folder.mkdir(exist_ok=True)
    for name in "AB":
        papers = "".join(f'<paper id="{n % 4}"><title>T{n}</title></paper>' for n in range(5))
        volume = f'<volume id="1"><meta><year>2010</year></meta>{papers}</volume>'
        (folder / f"{name}10.xml").write_text(f'<collection id="{name}10">{volume}</collection>')
    return folder


def grobid(tmp_path: Path) -> Path:
    folder = tmp_path / "tei"
    folder.mkdir(exist_ok=True)
    for n in range(4):
        title = f"<fileDesc><titleStmt><title>Title {n}</title></titleStmt></fileDesc>"
        entries = "".join(
            f"<biblStruct xml:id='b{m}'><analytic><title>Title {m}</title></analytic></biblStruct>"
            for m in range(6)
        )
        body = "<body><p>As <ref type='bibr' target='#b1'>[1]</ref> says.</p></body>"
        text = f"<text>{body}<back><listBibl>{entries}</listBibl></back></text>"
        (folder / f"{n}.tei.xml").write_text(f"<TEI><teiHeader>{title}</teiHeader>{text}</TEI>")
    (folder / "broken.tei.xml").write_text("<TEI><teiHeader>")
    return folder


def pdfs(tmp_path: Path) -> Path:
    folder = tmp_path / "pdf"
    folder.mkdir(exist_ok=True)
    entries = [f"[{n + 1}] A. Author. Title of number {n}. 2001." for n in range(3)]
    for n in range(2):
        data = article_file(f"Title of number {n}", "As [1] says, and [2,3] too.", entries)
        (folder / f"{n}.pdf").write_bytes(data)
    (folder / "broken.pdf").write_bytes(b"%PDF")
    return folder


def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "csv"
    folder.mkdir(exist_ok=True)
    for name in "ab":
        rows = [f"{name}{n % 4},T{n},{name}{n},x" for n in range(5)]
        (folder / f"{name}.csv").write_text("\n".join(["id,title,citations,colour", *rows, "one,cell"]))
    return folder


def csl(tmp_path: Path) -> Path:
    values = [{"id": f"a{n % 4}", "title": f"T{n}", "issued": {}} for n in range(20)]
    return write_lines(tmp_path / "csl.jsonl", values)


def bibtex(tmp_path: Path) -> Path:
    folder = tmp_path / "bib"
    folder.mkdir(exist_ok=True)
    for name in ("a", "b"):
        (folder / f"{name}.bib").write_text(
            f"@misc{{k, title={{T}}}}\n@misc{{{name}, title={{T}}}}\n@misc{{q"
        )
    return folder


def s2_citations(tmp_path: Path) -> Path:
    folder = tmp_path / "s2"
    folder.mkdir(exist_ok=True)
    write_lines(folder / "papers.jsonl", [{"corpusid": n, "title": f"T{n}", "year": 2000} for n in range(6)])
    links = [{"citingcorpusid": n, "citedcorpusid": n - 1, "contexts": ["as", "so"]} for n in range(1, 9)]
    write_lines(folder / "citations.jsonl", [*links, {"citingcorpusid": 3, "citedcorpusid": None}])
    return folder


def s2_abstracts(tmp_path: Path) -> Path:
    folder = s2_citations(tmp_path)
    write_lines(folder / "abstracts.jsonl", [{"corpusid": n, "abstract": f"A{n}"} for n in (1, 2, 77)])
    return folder


def s2_full_texts(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "fulltext.jsonl", [full_text(1), full_text(2) | {"corpusid": 11}])


def parquet(tmp_path: Path) -> Path:
    folder = tmp_path / "parquet"
    folder.mkdir(exist_ok=True)
    ids = [f"p{n}" for n in range(10)]
    tables = {
        "papers": {"id": [*ids, "p1"], "title": ["T"] * 5 + [""] + ["T"] * 5, "colour": [1] * 11},
        "citations": {"citing": [*ids, "?"], "cited": ["p0"] * 11},
        "contexts": {
            "id": [f"c{n}" for n in range(9)] + ["c2"],
            "citing": ids,
            "cited": [["p1", "?"]] * 10,
            "context": ["as [CIT]"] * 10,
            "split": ["train"] * 5 + ["test"] * 5,
        },
        "sentences-0": {"id": [*ids, "?"], "position": [0] * 11, "text": ["s"] * 10 + [""]},
        "other": {"a": [1]},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet", row_group_size=3)
    return folder


@pytest.mark.parametrize("size", [1, 300, 1 << 20])
@pytest.mark.parametrize(
    "make",
    [
        works,
        starter,
        citeomatic,
        aminer,
        hatten,
        references,
        anthology,
        grobid,
        pdfs,
        tables,
        csl,
        bibtex,
        s2_citations,
        s2_abstracts,
        s2_full_texts,
        parquet,
    ],
)
def test_every_kind_of_source(tmp_path: Path, make: Any, size: int) -> None:
    if make is starter:  # each of its 423 papers would be a part
        size = {1: 20_000, 300: 60_000}.get(size, size)
    source = make(tmp_path)
    one, many = both(tmp_path, source, size)
    assert one == many
    assert "manifest.json" in one
    assert (
        len(open_source(source).parts(size)) > 1 or make in (s2_abstracts, hatten, grobid, pdfs) or size > 300
    )


def test_numbered_contexts_may_outgrow_the_limit_of_an_id(tmp_path: Path) -> None:
    nameless = {"citing": "a", "cited": "a2", "context": "as [CIT]"}
    long = nameless | {"citing": "a" * 9}
    papers = [{"id": id_, "title": "T"} for id_ in ("a", "a2", "a" * 9)]
    source = write_lines(tmp_path / "x.jsonl", [*papers, *[nameless] * 12, long])
    one, many = both(tmp_path, source, 80, limits=Limits(id=11))
    assert one == many
    assert b"missing_id" in one["rejects.jsonl"]


def test_the_shares_of_a_part_are_read_as_they_were(tmp_path: Path) -> None:
    source = open_source(PAPERS)
    (part,) = source.parts(1 << 30)
    assert staged_parts.stage_part(source, part, tmp_path / "part").lines == 423
    shares = list(staged_parts.read_shares(tmp_path / "part"))
    assert sum(s.tables["papers"].num_rows for s in shares) == 423
    assert all(s.tables[name].schema == schema for s in shares for name, schema in TABLES.items())
    assert list(tmp_path.iterdir()) == [tmp_path / "part"]

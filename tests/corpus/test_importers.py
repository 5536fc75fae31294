from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.records import write_lines
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.importers import FORMATS, detect, open_source
from cocite.corpus.importers.fulltext import Mention, body_records, split_sentences
from cocite.corpus.importers.openalex import abstract
from cocite.corpus.records import CitationRecord, ContextRecord, Malformed, PaperRecord, SentenceRecord
from cocite.errors import InputError, NotFoundError

WORKS = Path(__file__).parent / "data" / "openalex.jsonl"


def records(path: Path, format: str | None = None) -> list[Any]:
    return list(open_source(path, format))


def papers(path: Path) -> list[PaperRecord]:
    return [r for r in records(path) if isinstance(r, PaperRecord)]


# -- cocite's own formats -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_native_lines(tmp_path: Path, name: str) -> None:
    own = {"cited": ["q"], "context": "see [CIT]", "group": 3, "unresolved": 1}
    path = write_lines(
        tmp_path / name,
        [
            {"id": 7, "title": "T", "authors": ["A", {"name": "B"}], "citations": ["q"], "year": "1999"},
            "",
            {"id": "p", "title": "P", "contexts": [own], "sentences": ["s0", {"text": "s1", "position": 5}]},
            {"citing": "p", "cited": ["q", "r"]},
            {"citing": "p", "cited": "q", "context": "a TARGETCIT b", "id": "c9"},
            {"paper": "p", "text": "s", "position": 9, "section": "End"},
        ],
    )
    assert detect(path) == "jsonl"
    found = records(path)
    assert found[0] == PaperRecord("7", "T", year=1999, authors=("A", "B"), citations=("q",))
    assert found[2] == ContextRecord("p/0", "p", ("q",), "see TARGETCIT", group=3, unresolved=1)
    assert found[3:5] == [SentenceRecord("p", 0, "s0"), SentenceRecord("p", 5, "s1")]
    assert found[5:7] == [CitationRecord("p", "q"), CitationRecord("p", "r")]
    assert found[7] == ContextRecord("c9", "p", ("q",), "a TARGETCIT b")
    assert found[8] == SentenceRecord("p", 9, "s", "End")


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('{"id": "p", "title": ["x"]}', "title"),
        ('{"id": "p", "title": "t", "year": "soon"}', "year"),
        ('{"id": "p", "title": "t", "year": 1e999}', "year"),
        ('{"id": "p", "title": "t", "authors": "me"}', "authors"),
        ('{"id": "p", "title": "t", "citations": [[]]}', "citations"),
        ('{"id": "p", "title": "t", "split": "all"}', "split"),
        ('{"id": "p", "title": "t", "contexts": 3}', "contexts"),
        ('{"id": "p", "title"', ""),
        ("[1]", ""),
        ("[" * 100_000, ""),
    ],
)
def test_a_broken_line_is_told_with_its_field(tmp_path: Path, line: str, field: str) -> None:
    path = write_lines(tmp_path / "x.jsonl", [{"id": "a", "title": "A"}, line, {"id": "z", "title": "Z"}])
    source = open_source(path, "jsonl")
    found = [(record, source.position.line) for record in source]
    assert [record.id for record, _ in found if isinstance(record, PaperRecord)] == ["a", "z"]
    broken = [(record.field, at) for record, at in found if isinstance(record, Malformed)]
    assert broken == [(field, 2)]


def test_bytes_that_are_not_utf8_are_repaired_and_counted(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'{"id": "a", "title": "caf\xe9 au lait"}\n')
    corpus = build(open_source(tmp_path / "x.jsonl"), tmp_path / "store")
    assert corpus.paper(0).title == "caf au lait"
    assert corpus.counts["rules"]["broken_unicode"] == 1


def test_a_compressed_file_cut_short_is_told(tmp_path: Path) -> None:
    lines = b"".join(
        b'{"id": "%d", "title": "%s"}\n' % (i, os.urandom(20).hex().encode()) for i in range(500)
    )
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(lines)[:-2000])
    with pytest.raises(InputError, match=r"x\.jsonl\.gz: the gzip file is damaged or cut short"):
        records(tmp_path / "x.jsonl.gz")


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffd\ufeff"),
    max_size=20,
)
IDS = st.integers(0, 5).map("p{}".format)


@settings(max_examples=12)
@given(st.lists(st.tuples(IDS, TEXT, TEXT, st.lists(IDS, max_size=3), st.integers(1900, 2000)), max_size=6))
def test_import_round_trip(tmp_path: Path, rows: list[tuple[str, str, str, list[str], int]]) -> None:
    """What comes in through JSON lines, gzipped lines or Parquet is one and the same store."""
    values = [
        {"id": i, "title": t, "abstract": a, "year": y, "authors": [a], "citations": c}
        for i, t, a, c, y in [("first", "A paper that is kept", "", [], 2000), *rows]
    ]
    plain = build(
        open_source(write_lines(tmp_path / "x.jsonl", values), "jsonl"), tmp_path / "1", replace=True
    )
    zipped = build(open_source(write_lines(tmp_path / "x.gz", values), "jsonl"), tmp_path / "2", replace=True)
    assert plain.version == zipped.version
    back = [
        {
            "id": p.id,
            "title": p.title,
            "abstract": p.abstract,
            "year": p.year,
            "authors": p.authors,
            "citations": p.citations,
        }
        for p in plain.papers_at(range(len(plain)))
    ]
    again = build(open_source(write_lines(tmp_path / "y.jsonl", back), "jsonl"), tmp_path / "3", replace=True)
    assert again.version == plain.version
    assert not {"broken_unicode", "malformed"} & {name for name, n in plain.counts["rules"].items() if n}


def parquet(folder: Path) -> Path:
    folder.mkdir()
    tables = {
        "papers": {
            "id": ["a", "b", "c"],
            "title": ["A", "B", None],
            "abstract": [None, "x", "y"],
            "year": [2009, 2010, 2011],
            "authors": [["N"], None, []],
            "venue": ["V", None, ""],
            "n_sentences": [0, 1, 0],
        },
        "citations": {"citing": ["b"], "cited": ["a"]},
        "contexts": {
            "id": [0, 1],
            "citing": ["b", "b"],
            "cited": [["a"], ["a", "c"]],
            "n_unresolved": [0, 2],
            "sentence": [5, 6],
            "group": [0, 1],
            "section": ["S", None],
            "context": ["t TARGETCIT", "u TARGETCIT"],
            "split": ["dev", "dev"],
        },
        "sentences-0": {
            "id": ["b"],
            "position": pa.array([5], pa.int32()),
            "section": ["S"],
            "text": ["t [[CIT:0]]"],
        },
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder


def test_parquet_folder(tmp_path: Path) -> None:
    path = parquet(tmp_path / "in")
    assert detect(path) == "parquet"
    corpus = build(open_source(path), tmp_path / "store")
    assert {name: n for name, n in corpus.counts["rules"].items() if n} == {
        "empty_title": 1,
        "context_unknown_cited": 1,
        "unknown_field": 3,
    }
    assert corpus.paper(1) == PaperRecord("b", "B", "x", 2010, split="dev", citations=("a",))
    assert corpus.paper(0).authors == ("N",)
    assert corpus.split.tolist() == [0, 2]
    assert corpus.contexts.take("unresolved", [0, 1]) == [0, 3]
    assert corpus.contexts.take("id", [0, 1]) == ["0", "1"]
    assert corpus.sentences.take("text", [0]) == ["t [[CIT:0]]"]


def test_parquet_mistakes_are_told(tmp_path: Path) -> None:
    path = parquet(tmp_path / "in")
    pq.write_table(pa.table({"citing": ["a"]}), path / "citations.parquet")
    with pytest.raises(InputError, match=r"citations\.parquet: lacks the column 'cited'"):
        records(path)
    (path / "papers.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        records(path)


# -- formats of others --------------------------------------------------------------------------------------


def test_openalex_fixture() -> None:
    assert detect(WORKS) == "openalex"
    works = papers(WORKS)
    assert [work.id for work in works] == ["W1", "W2", "W3", "W4", "W5"]
    first = works[0]
    assert first.title == "Sleep and memory in mice"
    assert first.abstract == "Sleep helps memory. Sleep helps mice."
    assert first.keyphrases == ("Sleep", "Mice", "Memory")
    assert first.authors == ("Ada Lovelace", "Grace Hopper")
    assert (first.venue, first.year, first.doi) == ("Journal of Sleep", 2001, "10.1000/one")
    assert works[1].citations == ("W1", "W99")
    # Without MeSH: keywords, else concepts of level 1 up that score well, best first.
    assert works[1].keyphrases == ("Deep sleep",)
    assert works[2].keyphrases == ("Neuroscience", "Dream")
    assert works[3].venue == "Old Venue"
    assert works[4].title == ""


@given(st.lists(st.sampled_from("a bb the".split()), max_size=12))
def test_inverted_index_is_put_together(words: list[str]) -> None:
    index: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        index.setdefault(word, []).append(at)
    assert abstract(index) == " ".join(words)


@pytest.mark.skipif(
    not os.environ.get("COCITE_OPENALEX"), reason="needs works: set COCITE_OPENALEX to their file"
)
def test_real_openalex_works(tmp_path: Path) -> None:
    corpus = build(open_source(os.environ["COCITE_OPENALEX"]), tmp_path / "store")
    rules = corpus.counts["rules"]
    assert len(corpus) > 1000
    assert rules["malformed"] == 0
    assert rules["empty_title"] + len(corpus) == sum(1 for _ in open_source(os.environ["COCITE_OPENALEX"]))
    assert len(corpus.cites.indices) > len(corpus)
    assert sum(bool(p.keyphrases and p.authors) for p in corpus.papers_at(range(500))) > 300


def test_citeomatic_lines(tmp_path: Path) -> None:
    own = {
        "id": "1",
        "title": "T",
        "abstract": "A",
        "authors": ["X"],
        "venue": "V",
        "year": 2017,
        "out_citations": ["2"],
        "key_phrases": ["k"],
        "in_citations": [],
    }
    older = {
        "id": "2",
        "title": "U",
        "paperAbstract": "B",
        "authors": [{"name": "Y", "ids": []}],
        "outCitations": [],
        "keyPhrases": ["m"],
        "year": None,
    }
    path = write_lines(tmp_path / "corpus.json", [own, older])
    assert detect(path) == "citeomatic"
    assert papers(path) == [
        PaperRecord("1", "T", "A", 2017, "V", ("X",), ("k",), citations=("2",)),
        PaperRecord("2", "U", "B", authors=("Y",), keyphrases=("m",)),
    ]


# -- Semantic Scholar ---------------------------------------------------------------------------------------

BODY = "A title\nWe sum up.\nIntro\nAs shown [1, 2], e.g. by Wu (2000), it works. Others [9] differ.\nEnd"


def full_text(version: int) -> dict[str, Any]:
    """One full text as the first or the second release of S2ORC writes it."""

    def span(text: str, **attributes: Any) -> dict[str, Any]:
        start = BODY.index(text)
        return {"start": start, "end": start + len(text), "attributes": attributes}

    paragraph = "As shown [1, 2], e.g. by Wu (2000), it works. Others [9] differ."
    refs = [
        span("1", ref_id="b0"),
        span("2]", ref_id="b1"),
        span("Wu (2000)", ref_id="b2"),
        span("9", ref_id="b9"),
    ]
    entries = [
        {"start": 0, "end": 1, "attributes": {"id": f"b{i}", "matched_paper_id": 11 + i}} for i in range(3)
    ]
    common = {
        "title": json.dumps([span("A title")]),
        "abstract": json.dumps([span("We sum up.")]),
        "paragraph": json.dumps([span(paragraph)]),
    }
    if version == 1:
        spans = {
            **common,
            "bibref": json.dumps(refs),
            "bibentry": json.dumps(entries),
            "sectionheader": json.dumps([span("Intro")]),
        }
        return {
            "corpusid": 10,
            "externalids": {"doi": "10.1/s"},
            "content": {"text": BODY, "annotations": spans},
        }
    spans = {**common, "bib_ref": json.dumps(refs), "section_header": json.dumps([span("Intro")])}
    bibliography = {"text": "…", "annotations": {"bib_entry": json.dumps(entries)}}
    return {
        "corpusid": 10,
        "title": "A title",
        "body": {"text": BODY, "annotations": spans},
        "bibliography": bibliography,
    }


@pytest.mark.parametrize("version", [1, 2])
def test_s2orc_alone(tmp_path: Path, version: int) -> None:
    path = write_lines(tmp_path / "s2orc.jsonl.gz", [full_text(version)])
    assert detect(path) == "s2"
    found = records(path)
    assert found[0].id == "10"
    assert (found[0].title, found[0].abstract) == ("A title", "We sum up.")
    assert [r.cited for r in found if isinstance(r, CitationRecord)] == ["11", "12", "13"]
    contexts = [r for r in found if isinstance(r, ContextRecord)]
    assert [c.cited for c in contexts] == [("11", "12"), ("13",)]
    assert contexts[0].text == "As shown [ TARGETCIT , e.g. by OTHERCIT, it works. Others [OTHERCIT] differ."
    assert {c.section for c in contexts} == {"Intro"}
    sentences = [r for r in found if isinstance(r, SentenceRecord)]
    assert [s.text for s in sentences] == [
        "As shown [[[CIT:0]], e.g. by [[CIT:1]], it works.",
        "Others [[[CIT:2]]] differ.",
    ]
    assert [c.sentence for c in contexts] == [0, 0]


def test_s2ag_papers_with_abstracts_citations_and_full_texts(tmp_path: Path) -> None:
    def listed(id_: int) -> dict[str, Any]:
        return {
            "corpusid": id_,
            "title": f"P{id_}",
            "year": 2000 + id_,
            "authors": [{"authorId": "1", "name": "N"}],
            "venue": "",
            "journal": {"name": "J"},
            "s2fieldsofstudy": [{"category": "Medicine"}, {"category": "Medicine"}],
            "externalids": {"DOI": "10.1/p"},
        }

    write_lines(tmp_path / "papers-part0.jsonl.gz", [listed(10), listed(11)])
    write_lines(
        tmp_path / "abstracts-part0.jsonl", [{"corpusid": 11, "openaccessinfo": {}, "abstract": "Of eleven."}]
    )
    write_lines(
        tmp_path / "citations-part0.jsonl",
        [
            {"citingcorpusid": 11, "citedcorpusid": 10, "contexts": ["as in [1]"], "isinfluential": True},
            {"citingcorpusid": 11, "citedcorpusid": None},
        ],
    )
    found = records(tmp_path)
    first, second = [r for r in found if isinstance(r, PaperRecord)]
    assert second == PaperRecord("11", "P11", "Of eleven.", 2011, "J", ("N",), ("Medicine",), "10.1/p")
    assert first.abstract == ""
    assert [r for r in found if isinstance(r, ContextRecord)] == [
        ContextRecord("11/0", "11", ("10",), "as in [1] TARGETCIT")
    ]
    assert [r.rule for r in found if isinstance(r, Malformed)] == ["unmatched_citation"]
    write_lines(tmp_path / "s2orc.jsonl", [full_text(1)])
    found = records(tmp_path)
    assert next(r for r in found if isinstance(r, PaperRecord)).abstract == "We sum up."
    assert [r.citing for r in found if isinstance(r, ContextRecord)] == ["10", "10"]
    assert [r for r in found if isinstance(r, CitationRecord)] == [CitationRecord("11", "10")]


def test_s2_spans_that_are_broken_are_told(tmp_path: Path) -> None:
    value = full_text(1)
    value["content"]["annotations"]["bibref"] = "[{"
    path = write_lines(tmp_path / "x.jsonl", [value, full_text(1)])
    found = records(path)
    assert [r.field for r in found if isinstance(r, Malformed)] == ["annotations.bibref"]
    value["content"]["annotations"]["bibref"] = json.dumps(
        [{"start": 5, "end": 10**9}, {"start": -1, "end": 3}]
    )
    assert not [r for r in records(write_lines(path, [value])) if isinstance(r, ContextRecord)]


def test_sentences_end_where_they_end() -> None:
    text = "As Wu et al. Show, it is e.g. Possible. See Fig. 3 for J. Doe! Is it? (Yes.) 42 is."
    assert split_sentences(text) == [
        "As Wu et al. Show, it is e.g. Possible.",
        "See Fig. 3 for J. Doe!",
        "Is it?",
        "(Yes.",
        "42 is.",
    ]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 6)), max_size=8))
def test_any_spans_give_whole_contexts(spans: list[tuple[int, int]]) -> None:
    text = "Word after word, and so on. " * 3
    mentions = [Mention(start, start + size, f"p{start}") for start, size in spans]
    found = list(body_records("x", text, [(0, len(text), "S")], mentions))
    contexts = [r for r in found if isinstance(r, ContextRecord)]
    assert all(c.text.count("TARGETCIT") == 1 for c in contexts)
    assert len({c.group for c in contexts}) == len(contexts)
    body = " ".join(r.text for r in found if isinstance(r, SentenceRecord))
    assert all(f"[[CIT:{c.group}]]" in body for c in contexts)


# -- whatever comes -----------------------------------------------------------------------------------------

FIELDS = (
    "id title abstract year venue authors keyphrases doi split citations contexts sentences context citing cited text "
    "paper position section group unresolved corpusid content body annotations bibliography citingcorpusid "
    "citedcorpusid journal externalids s2fieldsofstudy referenced_works abstract_inverted_index authorships mesh "
    "concepts primary_location keywords out_citations key_phrases start end attributes bibref bibentry paragraph"
).split()
NAMES = st.sampled_from(FIELDS)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["\ud800", "p", "a b", "[{}]"]),
)
VALUES = st.recursive(
    LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=4), max_leaves=6
)
OBJECTS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=8)


@settings(max_examples=60)
@given(st.sampled_from(["jsonl", "s2", "openalex", "citeomatic"]), st.lists(OBJECTS, min_size=1, max_size=6))
def test_any_objects_are_imported_or_rejected(
    tmp_path: Path, format: str, values: list[dict[str, Any]]
) -> None:
    path = write_lines(tmp_path / "x.jsonl", values)
    try:
        corpus = build(open_source(path, format), tmp_path / "store", replace=True)
    except InputError as error:
        assert re.search("no paper can be kept|but no papers|the records are those of", str(error))  # noqa: PT017
        return
    assert len(corpus) <= len(values)
    assert [p.id for p in corpus.papers_at(range(len(corpus)))] == corpus.ids(range(len(corpus)))


# -- choosing a format --------------------------------------------------------------------------------------


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        open_source(tmp_path / "none")
    with pytest.raises(InputError, match=r"holds no|cannot be told"):
        open_source(tmp_path)
    path = write_lines(tmp_path / "x.jsonl", [{"foo": 1}])
    with pytest.raises(InputError, match="cannot be told from the first record"):
        open_source(path)
    with pytest.raises(InputError, match="did you mean 'openalex'"):
        open_source(path, "openalx")
    assert all(maker.format == name for name, maker in FORMATS.items())  # type: ignore[attr-defined]

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.records import make, paper, tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.corpus import citation_sample, links, staging, text_order
from cocite.corpus.builder import build
from cocite.corpus.records import (
    CitationRecord,
    ContextRecord,
    Malformed,
    PaperRecord,
    Record,
    SentenceRecord,
)
from cocite.corpus.rules import Limits
from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError, IntegrityError


def hits(corpus: Corpus) -> dict[str, int]:
    return {name: n for name, n in corpus.counts["rules"].items() if n}


def rejects(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_store_gives_back_what_it_was_given(tmp_path: Path) -> None:
    corpus = make(tmp_path, split=lambda year: "test" if year > 2001 else "train")
    assert [corpus.paper(row).id for row in range(4)] == ["a", "b", "c", "d"]
    b = corpus.paper(corpus.row("b"))
    assert b == paper(
        "b",
        "a",
        year=2000,
        abstract="Naïve text",
        authors=("Ann Bo", "Cy Di"),
        keyphrases=("x", "y"),
        split="train",
    )
    assert corpus.cites[3].tolist() == [0, 1, 2]
    assert corpus.cited_by[0].tolist() == [1, 2, 3]
    assert corpus.contexts.column("citing").tolist() == [1, 3]
    assert corpus.contexts.take("id", [0, 1]) == ["c1", "c2"]
    assert [corpus.context_cited[i].tolist() for i in range(2)] == [[0], [0, 1, 2]]
    assert corpus.sentence_indptr.tolist() == [0, 1, 1, 1, 3]
    assert corpus.sentences.take("text", range(3)) == ["body of a", "first", "second [[CIT:1]]"]
    together, times = corpus.cocitations
    assert [together[row].tolist() for row in range(4)] == [[1, 2], [0, 2], [0, 1], []]
    assert times.tolist() == [1] * 6
    assert hits(corpus) == {}
    assert corpus.counts["splits"] == {"none": 0, "train": 3, "dev": 0, "test": 1}
    assert corpus.find(["d", "zz", "a"]).tolist() == [3, -1, 0]


@settings(max_examples=20)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 2, 3, 100]))
def test_the_order_of_texts_and_links_does_not_matter(tmp_path: Path, rng: random.Random, size: int) -> None:
    """Small buckets and chunks take every path of the sorting on disk; papers keep their order."""
    records = tiny()
    others = [r for r in records if not isinstance(r, PaperRecord)]
    papers = iter([r for r in records if isinstance(r, PaperRecord)])
    rng.shuffle(others)
    places = sorted(rng.sample(range(len(records)), len(others)))
    mixed: list[Record] = [others.pop() if i in places else next(papers) for i in range(len(records))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_order, "BUCKET", size)
        patch.setattr(staging, "CHUNK", size)
        patch.setattr(staging, "PENDING", size)
        patch.setattr(links, "BLOCK", size)
        one = build(mixed, tmp_path / "one", replace=True)
    two = build(tiny(), tmp_path / "two", replace=True)
    assert one.version == two.version


def test_each_rule_of_links(tmp_path: Path) -> None:
    records: list[Record] = [
        paper("a", "a", "b", "b", "nowhere", year=2000),
        paper("b", year=2001),
        paper("late", year=2005),
        paper("undated", "late", year=0),
        paper("a", "b", "late"),
        CitationRecord("a", "late"),
        CitationRecord("ghost", "a"),
        Malformed("broken", "field"),
    ]
    corpus = make(tmp_path, records, rejects=tmp_path / "r.jsonl")
    assert hits(corpus) == {
        "malformed": 1,
        "duplicate_id": 1,
        "self_citation": 1,
        "duplicate_citation": 1,
        "unknown_citation": 1,
        "unknown_citing": 1,
        "later_citation": 1,
        "next_year_citation": 2,
    }
    assert [corpus.cites[row].tolist() for row in range(4)] == [[1], [], [], [2]]
    written = {str(entry["rule"]): entry for entry in rejects(tmp_path / "r.jsonl")}
    assert written["duplicate_id"]["line"] == 5
    assert written["unknown_citation"]["cited"] == "nowhere"
    assert written["unknown_citation"]["citing"] == "a"
    assert {"later_citation", "self_citation", "malformed"} <= set(written)
    kept = build(records, tmp_path / "kept", limits=Limits(later_years=None))
    assert kept.cites[0].tolist() == [1, 2]


def test_each_rule_of_texts(tmp_path: Path) -> None:
    corpus = make(
        tmp_path,
        [
            paper("a", year=2000),
            paper("b", "a", year=2001),
            ContextRecord("1", "b", ("a", "b", "x"), "t TARGETCIT", unresolved=1),
            ContextRecord("1", "b", ("a",), "again"),
            ContextRecord("2", "b", ("x",), "t"),
            ContextRecord("3", "x", ("a",), "t"),
            ContextRecord("4", "b", ("a",), "  "),
            SentenceRecord("x", 0, "t"),
            SentenceRecord("b", 0, "\x00"),
        ],
        rejects=tmp_path / "r.jsonl",
    )
    assert hits(corpus) == {
        "broken_unicode": 1,
        "self_citation": 1,
        "duplicate_context": 1,
        "empty_context": 1,
        "context_of_unknown_paper": 1,
        "context_without_cited": 1,
        "context_unknown_cited": 2,
        "sentence_of_unknown_paper": 1,
        "empty_sentence": 1,
    }
    assert len(corpus.contexts) == 1
    # The member that the source could not resolve, and the one it does not hold.
    assert corpus.contexts.take("unresolved", [0]) == [2]
    lines = {entry["rule"]: entry["line"] for entry in rejects(tmp_path / "r.jsonl")}
    assert lines["context_of_unknown_paper"] == 6
    assert lines["sentence_of_unknown_paper"] == 8


def test_links_follow_from_contexts_when_there_are_no_others(tmp_path: Path) -> None:
    records: list[Record] = [
        paper("a"),
        paper("b"),
        ContextRecord("1", "b", ("a",), "t"),
        ContextRecord("2", "b", ("a",), "u"),
    ]
    assert build(records, tmp_path / "x").cites[1].tolist() == [0]
    assert build(records, tmp_path / "y", links_from_contexts=False).cites[1].tolist() == []
    more = [*records, paper("c", "a")]
    assert build(more, tmp_path / "z").cites[1].tolist() == []
    assert build(more, tmp_path / "w", links_from_contexts=True).cites[1].tolist() == [0]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (paper("a"), "record:3: id: an earlier paper has this id"),
        (paper("z", title=""), "record:3: title: the paper has no title"),
        (paper("z", year=99), "record:3: year: the year 99"),
        (paper("z", abstract="\ud800"), "record:3: abstract: broken"),
        (Malformed("not JSON"), "record:3: not JSON"),
        (ContextRecord("c", "a", ("b",), ""), "record:3: context: "),
    ],
)
def test_strict_stops_at_the_first_bad_record(tmp_path: Path, record: Record, message: str) -> None:
    records = [paper("a"), paper("b"), record, paper("", title="")]
    with pytest.raises(InputError, match=message):
        make(tmp_path, records, strict=True)
    assert not list(tmp_path.iterdir())
    assert len(make(tmp_path, records)) >= 2


def test_strict_allows_links_out_of_the_source(tmp_path: Path) -> None:
    assert hits(make(tmp_path, [paper("a", "x", "a")], strict=True)) == {
        "self_citation": 1,
        "unknown_citation": 1,
    }


def test_unknown_citations_beyond_the_sample_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(citation_sample, "SIZE", 20)
    corpus = make(tmp_path, [paper("a", *(f"x{i}" for i in range(100)))], rejects=tmp_path / "r.jsonl")
    assert hits(corpus) == {"unknown_citation": 100}
    assert 1 <= len(rejects(tmp_path / "r.jsonl")) <= 20


def test_no_rejects_file_when_there_is_nothing_to_say(tmp_path: Path) -> None:
    make(tmp_path, rejects=tmp_path / "r.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_an_exception_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[Record]:
        yield from tiny()
        raise RuntimeError("source went away")

    with pytest.raises(RuntimeError):
        make(tmp_path, broken())
    assert list(tmp_path.iterdir()) == []


def test_the_old_store_stays_when_its_replacement_fails(tmp_path: Path) -> None:
    version = make(tmp_path).version
    with pytest.raises(InputError, match="already exists"):
        make(tmp_path)
    with pytest.raises(InputError):
        make(tmp_path, [paper("")], strict=True, replace=True)
    assert Corpus.open(tmp_path / "store").version == version
    assert len(make(tmp_path, [paper("n")], replace=True)) == 1


KILLED = """
import sys, time
from pathlib import Path
from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord
def records():
    for i in range(5000):
        yield PaperRecord(str(i), "t")
    print("ready", flush=True)
    time.sleep(60)
build(records(), Path(sys.argv[1]))
"""


def test_a_killed_import_leaves_no_store_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "store")], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    with pytest.raises(BusyError):
        make(tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "store").exists()
    assert [p for p in tmp_path.iterdir() if p.suffix == ".tmp"]
    make(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("name", ["papers.arrow", "cites.indices.npy", "ids.npy", "sentences.indptr.npy"])
def test_verify_names_the_damaged_file(tmp_path: Path, name: str) -> None:
    make(tmp_path)
    Corpus.verify(tmp_path / "store")
    path = tmp_path / "store" / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match=name):
        Corpus.verify(tmp_path / "store")
    path.write_bytes(data[:-1])
    with pytest.raises(IntegrityError, match=name):
        Corpus.open(tmp_path / "store")


def test_an_empty_source_makes_an_empty_store(tmp_path: Path) -> None:
    corpus = make(tmp_path, [])
    assert (len(corpus), len(corpus.contexts), len(corpus.sentences)) == (0, 0, 0)
    assert corpus.find(["a"]).tolist() == [-1]
    assert len(corpus.context_cited) == 0
    assert corpus.years.tolist() == []


def test_more_papers_than_a_batch(tmp_path: Path) -> None:
    count = 40_000
    corpus = make(tmp_path, (paper(str(i), str(i - 1), year=1990 + i // 2000) for i in range(count)))
    assert len(corpus) == count
    assert [len(chunk) for chunk in corpus.papers.table.column("id").chunks] == [16384, 16384, 7232]
    rows = np.random.default_rng(1).integers(1, count, 200)
    assert corpus.ids(rows) == [str(row) for row in rows]
    assert np.array_equal(corpus.cites.gather(rows)[1], rows - 1)
    assert [p.citations for p in corpus.papers_at(rows[:20])] == [(str(row - 1),) for row in rows[:20]]

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.records import make, paper, tiny, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.importers import open_source
from cocite.corpus.records import (
    ContextRecord,
    PaperRecord,
    Record,
    SentenceRecord,
)
from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError


def test_no_rejects_file_when_there_is_nothing_to_say(tmp_path: Path) -> None:
    make(tmp_path, rejects=tmp_path / "r.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_an_exception_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[Record]:
        yield from tiny()
        raise RuntimeError("source went away")

    with pytest.raises(RuntimeError, match="source went away"):
        make(tmp_path, broken())
    assert list(tmp_path.iterdir()) == []


def test_the_old_store_stays_when_its_replacement_fails(tmp_path: Path) -> None:
    version = make(tmp_path).version
    with pytest.raises(InputError, match="already exists"):
        make(tmp_path)
    with pytest.raises(InputError, match="rule missing_id"):
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
    with pytest.raises(BusyError, match=f"process {process.pid} is at work here"):
        make(tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "store").exists()
    assert [p for p in tmp_path.iterdir() if p.suffix == ".tmp"]
    make(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


NEW = [paper("e", "a", "d", "f", year=2003), paper("b", "c"), paper("f", "e", year=2003)]


GROUPS = [
    ContextRecord("n1", "f", ("b", "a"), "new TARGETCIT"),
    ContextRecord("n2", "e", ("b", "c", "f"), "newer TARGETCIT"),
    ContextRecord("n3", "a", ("b",), "of an old paper"),
    ContextRecord("c1", "f", ("a",), "an id that is taken"),
]


def test_old_papers_keep_their_rows_and_new_ones_follow(tmp_path: Path) -> None:
    base = make(tmp_path)
    corpus = build([*NEW, *GROUPS], tmp_path / "more", base=base, rejects=tmp_path / "r.jsonl")
    assert corpus.ids(range(6)) == ["a", "b", "c", "d", "e", "f"]
    assert corpus.papers_at(range(4)) == base.papers_at(range(4))
    assert [corpus.cites[row].tolist() for row in (3, 4, 5)] == [[0, 1, 2], [0, 3, 5], [4]]
    assert corpus.cited_by[0].tolist() == [1, 2, 3, 4]
    assert corpus.contexts.take("id", range(4)) == ["c1", "c2", "n2", "n1"]
    assert corpus.contexts.column("citing").tolist() == [1, 3, 4, 5]
    together, times = corpus.cocitations
    assert dict(
        zip(together[1].tolist(), times[together.indptr[1] : together.indptr[2]].tolist(), strict=True)
    ) == {
        0: 2,
        2: 2,
        5: 1,
    }
    assert corpus.sentence_indptr.tolist() == [*base.sentence_indptr.tolist(), 3, 3]
    assert {name: n for name, n in corpus.counts["rules"].items() if n} == {
        "duplicate_id": 1,
        "duplicate_context": 1,
        "context_of_old_paper": 1,
    }
    Corpus.verify(corpus.path)


@settings(max_examples=12)
@given(st.lists(st.sets(st.integers(0, 11), max_size=5), min_size=12, max_size=12), st.integers(1, 11))
def test_appending_equals_importing_at_once(tmp_path: Path, cites: list[set[int]], cut: int) -> None:
    """When no old paper cites a new one, the two ways give the same store."""
    papers = [
        PaperRecord(str(i), f"t{i}", citations=tuple(str(c) for c in sorted(to) if i >= cut or c < cut))
        for i, to in enumerate(cites)
    ]
    contexts = [ContextRecord(f"c{p.id}", p.id, p.citations, "t TARGETCIT") for p in papers if p.citations]
    whole = build([*papers, *contexts], tmp_path / "whole", replace=True, links_from_contexts=False)
    first = [c for c in contexts if int(c.citing) < cut]
    base = build([*papers[:cut], *first], tmp_path / "base", replace=True, links_from_contexts=False)
    folder = tmp_path / f"more-{len(list(tmp_path.iterdir()))}"
    new = [*papers[cut:], *(c for c in contexts if int(c.citing) >= cut)]
    more = build(new, folder, base=base, links_from_contexts=False)
    assert more.version == whole.version


def test_adding_to_full_batches(tmp_path: Path) -> None:
    base = make(tmp_path, (paper(str(i)) for i in range(16384 + 10)))
    corpus = build((paper(f"n{i}", str(i % 1000)) for i in range(20_000)), tmp_path / "more", base=base)
    assert [len(c) for c in corpus.papers.table.column("id").chunks] == [16384, 16384, 3626]
    assert corpus.ids([16393, 16394, 36393]) == ["16393", "n0", "n19999"]
    assert np.array_equal(corpus.cites.indices, np.arange(20_000) % 1000)
    assert corpus.find(["n7", "9", "?"]).tolist() == [16401, 9, -1]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}],
            "2 rejected, 2 by the rule empty_title .*'name' may mean 'title'",
        ),
        (
            [{"id": "", "title": "A"}, {"id": "b", "title": 3.5, "year": "x"}, "no"],
            r"3 rejected, 2 by the rule malformed .*x\.jsonl:2",
        ),
        ([{"citing": "a", "cited": "b"}], "no paper can be kept: it holds none"),
        ([""], "no paper can be kept: it holds none"),
    ],
)
def test_a_source_without_a_paper_is_refused(tmp_path: Path, values: list[Any], reason: str) -> None:
    source = write_lines(tmp_path / "x.jsonl", values)
    with pytest.raises(InputError, match=rf"x\.jsonl: .*{reason}"):
        build(open_source(source, "jsonl"), tmp_path / "store", rejects=tmp_path / "rejects.jsonl")
    assert not (tmp_path / "store").exists()
    assert (tmp_path / "rejects.jsonl").exists() == ("rejected" in reason)


def test_a_store_without_bodies_can_be_built_and_grown(tmp_path: Path) -> None:
    base = make(tmp_path, bodies=False)
    assert (base.has_bodies, base.counts["sentences"]) == (False, 0)
    more = build(
        [*NEW, *GROUPS, SentenceRecord("e", 0, "dropped")], tmp_path / "more", base=base, bodies=False
    )
    assert (len(more), more.has_bodies) == (6, False)
    Corpus.verify(more.path)
    with pytest.raises(InputError, match="holds no body sentences"):
        build(NEW, tmp_path / "whole", base=base)
    assert not (tmp_path / "whole").exists()

"""Writing versions: a plan on disk is the plan in memory, and a failed version leaves no trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, make_records

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.retrieval.engines.bm25_files import save_group
from cocite.retrieval.index.documents import INSIDE
from cocite.retrieval.index.paper_indexes import PaperIndexes
from cocite.retrieval.index.plan import BuildPlan
from cocite.retrieval.index.snapshot import IndexSnapshot, list_versions
from cocite.retrieval.index.versions import VersionedFolder


def test_a_folder_of_something_else_is_not_taken(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="not an index"):
        IndexSnapshot.create(corpus, tmp_path)


def test_unchanged_files_are_linked_and_old_versions_go(corpus: Corpus, root: Path) -> None:
    first = IndexSnapshot.create(corpus, root)
    second = IndexSnapshot.remove(root, ["p1"])
    for file in ("papers/text/lists.rows.npy", "names/authors.papers.npy"):
        one, two = (snapshot.path / file for snapshot in (first, second))
        assert one.stat().st_ino == two.stat().st_ino
    IndexSnapshot.remove(root, ["p2"])
    assert VersionedFolder(root).names() == ["000001", "000002", "000003"], "the first is still open"
    first.close()
    IndexSnapshot.remove(root, ["p3"])
    assert VersionedFolder(root).names() == ["000002", "000003", "000004"]
    assert len(second.corpus.paper(5).title) > 0
    del second
    IndexSnapshot.remove(root, ["p5"], keep=1)
    assert VersionedFolder(root).names() == ["000005"]
    assert [entry["current"] for entry in list_versions(root)] == [True]


def test_a_failed_change_leaves_the_old_version(corpus: Corpus, root: Path) -> None:
    IndexSnapshot.create(corpus, root)

    def broken():
        yield from make_records(3, start=80)
        raise RuntimeError("source ended")

    with pytest.raises(RuntimeError, match="source ended"):
        IndexSnapshot.add(root, broken())
    assert IndexSnapshot.open(root).version == "000001"
    assert [path.name for path in (root / "versions").iterdir()] == ["000001"]
    assert len(IndexSnapshot.add(root, make_records(3, start=80))) == 83


def test_files_are_those_of_the_parts_made_in_memory(
    corpus: Corpus, root: Path, encoder: HashEncoder
) -> None:
    """Each way to make an index, executed into a folder and in memory: the files are equal to the byte."""
    first = IndexSnapshot.create(corpus, root, encoders=[encoder], known_until=2006)
    assert_files_of(first, BuildPlan.new(corpus, History.until(corpus, 2006), [encoder]))
    second = IndexSnapshot.add(root, make_records(6, start=80, seed=9), encoders=[encoder])
    assert_files_of(second, BuildPlan.with_papers(first, second.corpus, second.history, {"hash": encoder}))
    third = IndexSnapshot.remove(root, ["p4", "p60"])
    assert_files_of(third, BuildPlan.without_papers(second, np.array([4, 60])))


def assert_files_of(snapshot: IndexSnapshot, plan: BuildPlan) -> None:
    parts = plan.make()
    expected = snapshot.path.parent.parent.parent / f"expected-{snapshot.version}"
    assert isinstance(parts.papers, PaperIndexes)
    parts.papers.save(expected / "papers")
    contexts = {"contexts": parts.contexts, **vars(parts.anchors)}
    save_group(contexts, expected / "contexts", inside=INSIDE, without_lists=("whole", "near"))
    assert parts.names is not None
    parts.names.save(expected / "names")
    for name, vectors in parts.vectors.items():
        vectors.save(expected / "vectors" / name)
    np.save(expected / "alive.npy", parts.alive)
    np.save(expected / "history.npy", parts.history.citing)
    files = [path.relative_to(expected) for path in expected.rglob("*") if path.is_file()]
    assert len(files) > 40
    for file in files:
        assert (snapshot.path / file).read_bytes() == (expected / file).read_bytes(), file

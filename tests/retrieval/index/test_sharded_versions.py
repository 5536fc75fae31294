"""New versions of an index in shards: those of an index that is searched whole, whatever the number of shards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.exact_stage import exact_stage
from helpers.topic_corpus import HashEncoder, make_records, queries_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cocite.corpus.records import ContextRecord, PaperRecord, Record
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.protocols import Query
from cocite.retrieval.index.changes import add_papers, remove_papers
from cocite.retrieval.index.opening import SavedIndex
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.sharded_versions import add_to_shards, remove_from_shards
from cocite.retrieval.index.snapshot import IndexSnapshot, verify_index

COUNTS = (1, 2, 5)
step = st.one_of(
    st.tuples(st.just("add"), st.integers(1, 30)),
    st.tuples(st.just("remove"), st.lists(st.integers(0, 79), min_size=1, max_size=4, unique=True)),
)


def new_records(papers: int, start: int) -> list[Record]:
    """Papers that cite old ones, in contexts with words that nobody has used before."""
    late = [
        ContextRecord(
            f"late{start}-{row}", f"p{start}", (f"p{row}",), f"quokka{start} parsing TARGETCIT wombat"
        )
        for row in (4, 41, 77)
    ]
    return [*make_records(papers, start=start, seed=start), *late]


def apply(root: Path, steps: list[tuple[str, object]], encoder: HashEncoder) -> SavedIndex:
    papers = 80
    for name, value in steps:
        if name == "add":
            assert isinstance(value, int)
            index = add_papers(root, new_records(value, papers), encoders=[encoder])
            papers += value
        else:
            assert isinstance(value, list)
            index = remove_papers(root, [f"p{row}" for row in value])
    return index


@given(steps=st.lists(step, min_size=1, max_size=4))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_additions_and_removals_give_the_same_in_any_number_of_shards(
    corpus: Corpus, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, object]]
) -> None:
    folder, encoder = tmp_path_factory.mktemp("versions"), HashEncoder()
    IndexSnapshot.create(corpus, folder / "whole", encoders=[encoder])
    whole = apply(folder / "whole", steps, encoder)
    queries = [
        *queries_of(whole.corpus, range(150, 157)),
        Query("q", context="quokka80 near wombat TARGETCIT"),
    ]
    stages = []
    for count in COUNTS:
        ShardedIndex.create(corpus, folder / str(count), shards=count, encoders=[encoder])
        index = apply(folder / str(count), steps, encoder)
        assert isinstance(index, ShardedIndex)
        assert (len(index), index.manifest.meta["alive"]) == (len(whole), whole.manifest.meta["alive"])
        assert index.manifest.meta["contexts"] == whole.manifest.meta["contexts"]
        verify_index(folder / str(count))
        stages.append(exact_stage(index).retrieve(queries, None))
    one, *others = stages
    for other in others:
        np.testing.assert_array_equal(other.ranking.rows, one.ranking.rows)
        np.testing.assert_array_equal(other.ranking.scores, one.ranking.scores)
        for name, values in one.signals.items():
            np.testing.assert_array_equal(other.signals[name], values, err_msg=name)
    expected = exact_stage(whole).retrieve(queries, None)
    np.testing.assert_array_equal(one.ranking.rows, expected.ranking.rows)
    np.testing.assert_allclose(one.ranking.scores, expected.ranking.scores, rtol=1e-5, atol=1e-6)


def test_only_shards_that_change_are_written(corpus: Corpus, root: Path, encoder: HashEncoder) -> None:
    old = ShardedIndex.create(corpus, root, shards=4, encoders=[encoder])
    gone = remove_papers(root, ["p24"])  # of the second shard, which cites papers of the first two
    changed = {1, *(int(row) // 20 for row in corpus.cites[24])}
    for number in range(4):
        before, after = (index.path / "shards" / f"{number:04d}" for index in (old, gone))
        linked = {
            path.name for path in before.rglob("*.npy") if (after / path.relative_to(before)).samefile(path)
        }
        same = old.manifest.meta["shards"][number] == gone.manifest.meta["shards"][number]
        assert same == (number not in changed)
        for part in ("papers/text/counts.entries.npy", "vectors/hash/index.faiss", "years.npy"):
            assert (after / part).samefile(before / part), part
        contexts = "contexts/contexts/lists.rows.npy"
        assert (after / contexts).samefile(before / contexts) == (number != 1)
        assert "years.npy" in linked
    assert (gone.path / "corpus" / "papers.arrow").samefile(old.path / "corpus" / "papers.arrow")
    encoder.encoded = 0
    late = ContextRecord("late", "p80", ("p21",), "parsing quokka TARGETCIT")
    grown = add_papers(root, [PaperRecord("p80", "Quokka study", year=2012), late], encoders=[encoder])
    assert encoder.encoded == 1
    shards = [shard["papers"] for shard in grown.manifest.meta["shards"]]
    assert shards == [20, 20, 20, 20, 1]
    unchanged = [
        old["digest"] == new["digest"]
        for old, new in zip(gone.manifest.meta["shards"], grown.manifest.meta["shards"], strict=False)
    ]
    assert unchanged == [True, False, True, True]
    # A last shard that is small takes the next papers as well.
    again = add_papers(root, make_records(5, start=81), encoders=[encoder])
    assert [shard["papers"] for shard in again.manifest.meta["shards"]] == [20, 20, 20, 20, 6]


def test_what_cannot_be_changed_is_said(corpus: Corpus, root: Path, encoder: HashEncoder) -> None:
    ShardedIndex.create(corpus, root, shards=3, encoders=[encoder], known_until=2007)
    with pytest.raises(NotFoundError, match=r"no paper has the id 'nobody' \(and 1 more\)"):
        remove_from_shards(root, ["p1", "nobody", "nothing"])
    with pytest.raises(InputError, match="--model"):
        add_to_shards(root, make_records(1, start=80))
    with pytest.raises(InputError, match="made by encoder hash-1, not hash-2"):
        add_to_shards(root, make_records(1, start=80), encoders=[HashEncoder("hash-2")])
    assert ShardedIndex.open(root).version == "000001"
    grown = add_to_shards(root, make_records(2, start=80), encoders=[encoder])
    assert not grown.history.citing[80:].any()
    assert grown.manifest.meta["known_until"] == 2007


def test_a_removed_paper_stays_removed(corpus: Corpus, root: Path) -> None:
    ShardedIndex.create(corpus, root, shards=3)
    remove_from_shards(root, ["p4", "p60"])
    add_to_shards(root, make_records(3, start=80))
    again = remove_from_shards(root, ["p81"])
    assert np.flatnonzero(~again.alive).tolist() == [4, 60, 81]
    assert not np.isin([4, 60, 81], again.context_papers).any()
    found = exact_stage(again, vectors=False).search([Query("q", title=corpus.paper(60).title)], 80).rows
    assert not np.isin([4, 60, 81], found).any()


def test_an_index_of_the_other_kind_is_named(corpus: Corpus, tmp_path: Path) -> None:
    IndexSnapshot.create(corpus, tmp_path / "whole")
    with pytest.raises(InputError, match="not divided into shards"):
        add_to_shards(tmp_path / "whole", make_records(1, start=80))

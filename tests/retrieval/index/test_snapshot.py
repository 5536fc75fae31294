"""Snapshots: the same on disk as in memory, grown and narrowed without a rebuild, damage named."""

from __future__ import annotations

import dataclasses
import json
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.same_answers import anchor_scores, assert_same_answers
from helpers.topic_corpus import HashEncoder, make_records, queries_of

from cocite.artifacts import seal
from cocite.corpus.builder import build
from cocite.corpus.history import History, history_before
from cocite.corpus.records import ContextRecord, PaperRecord
from cocite.corpus.splits import Split, with_split
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.protocols import Query
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.documents import paper_texts
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.snapshot import IndexSnapshot, list_versions, verify_index
from cocite.retrieval.signals.citing_sentences import CitingSentences, citing_sentences
from cocite.retrieval.signals.neighbours import Neighbours
from cocite.retrieval.vector_retriever import VectorRetriever
from cocite.text.gaps import around_gap, strip_marks


def test_a_snapshot_answers_as_the_index_in_memory(corpus: Corpus, root: Path, encoder: HashEncoder) -> None:
    IndexSnapshot.create(corpus, root, known_until=2007, encoders=[encoder])
    snapshot = IndexSnapshot.open(root)
    memory = Index.build(corpus, History.until(corpus, 2007), encoders=[encoder])
    queries = queries_of(corpus, range(len(corpus.contexts) - 20, len(corpus.contexts)))
    assert_same_answers(snapshot, memory, queries)
    a, b = (VectorRetriever(index, encoder).search(queries, 10) for index in (snapshot, memory))
    np.testing.assert_array_equal(a.rows, b.rows)
    assert isinstance(snapshot.vectors["hash"].raw, np.memmap)
    assert list_versions(root)[0]["known_until"] == 2007
    assert_same_answers(snapshot.rewind(2005), Index.build(corpus, History.until(corpus, 2005)), queries)


def test_adding_papers_keeps_the_old_and_finds_the_new(
    corpus: Corpus, root: Path, encoder: HashEncoder
) -> None:
    old = IndexSnapshot.create(corpus, root, encoders=[encoder])
    queries = queries_of(corpus, range(60, 80))
    before = Bm25Retriever(old, "context+title").scores(queries)
    encoder.encoded = 0
    late = ContextRecord("late", "p82", ("p4",), "parsing grammar quokka TARGETCIT")
    new = IndexSnapshot.add(root, [*make_records(6, start=80, seed=9), late], encoders=[encoder])
    assert (len(old), len(new), encoder.encoded) == (80, 86, 6)
    assert (old.version, new.version) == ("000001", "000002")
    np.testing.assert_array_equal(Bm25Retriever(new, "context+title").scores(queries)[:, :80], before)
    found = Bm25Retriever(new, "title").search([Query("q", title="study83")], 1)
    assert new.corpus.ids(found.rows[0]) == ["p83"]
    sentences = CitingSentences(new)
    voters = sentences.nearest([Query("q", context="quokka")])
    assert sentences.count(voters).ranking(1).rows[0, 0] == new.corpus.row("p4")
    assert citing_sentences(new, voters, 0, new.corpus.row("p4")) == ((82, late.text),)
    assert len(new.contexts) == len(new.history.contexts) == len(new.cited_by_context)
    for document in range(len(new.contexts)):
        text = new.corpus.contexts.take("text", [new.history.contexts[document]])[0]
        held = {word for word, _ in new.contexts.shared_terms(text, [document], 99)[0]}
        assert held == set(new.contexts.tokenizer.words(strip_marks(text)))
        near = {word for word, _ in new.anchors.windows.shared_terms(text, [document], 99)[0]}
        assert near == set(new.contexts.tokenizer.words(around_gap(text)))
    # A paper's anchor text is all that cites it, old and new; what nothing new cites keeps its scores.
    citing = new.corpus.context_cited.transpose(86)
    for texts, form in ((new.anchors.whole, strip_marks), (new.anchors.near, around_gap)):
        assert len(texts) == 86
        assert np.isclose(texts.scores(["quokka"])[0, 4], texts.shared_terms("quokka", [4])[0][0][1])
        for row in range(86):
            said = new.corpus.contexts.take("text", citing[row])
            assert texts.lengths[row] == sum(len(texts.tokenizer.words(form(text))) for text in said)
    untouched = np.setdiff1d(np.arange(80), new.cited_by_context.indices[len(old.cited_by_context.indices) :])
    before, after = (anchor_scores(index, queries)[:, :, untouched] for index in (old, new))
    np.testing.assert_allclose(after, before, rtol=1e-6)
    np.testing.assert_array_equal(new.vectors["hash"].raw[:80], old.vectors["hash"].raw)
    np.testing.assert_allclose(
        new.vectors["hash"].raw[80:], encoder.encode_papers(new.corpus, np.arange(80, 86)), rtol=1e-6
    )
    assert (
        VectorRetriever(new, encoder).search([Query("q", title=new.corpus.paper(84).title)], 3).rows.max()
        >= 80
    )


def test_additions_keep_to_the_known_years(corpus: Corpus, root: Path) -> None:
    IndexSnapshot.create(corpus, root, known_until=2005)
    new = IndexSnapshot.add(root, make_records(6, start=80))
    assert not new.history.citing[80:].any()
    assert len(new.contexts) == len(History.until(new.corpus, 2005).contexts)


def test_an_index_before_a_split_knows_the_earlier_splits_and_additions_keep_to_it(
    corpus: Corpus, root: Path, tmp_path: Path
) -> None:
    mixed = with_split(corpus, Split.random(len(corpus), 0.2, 0.3, seed=1), tmp_path / "mixed")
    known = IndexSnapshot.create(mixed, root, before_split="test")
    np.testing.assert_array_equal(known.history.citing, np.isin(mixed.split, [1, 2]))
    [entry] = list_versions(root)
    assert (entry["known_until"], entry["before_split"]) == (None, "test")
    assert_same_answers(
        known, Index.build(mixed, history_before(mixed, "test")), queries_of(corpus, range(100, 120))
    )
    splits = ["train", "test", "dev", ""]
    records = [
        dataclasses.replace(record, split=splits[number % 4]) if isinstance(record, PaperRecord) else record
        for number, record in enumerate(r for r in make_records(8, start=80) if isinstance(r, PaperRecord))
    ]
    new = IndexSnapshot.add(root, records)
    np.testing.assert_array_equal(new.history.citing[:80], known.history.citing)
    np.testing.assert_array_equal(new.history.citing[80:], [True, False, True, False] * 2)
    gone = IndexSnapshot.remove(root, ["p80"])
    again = IndexSnapshot.add(root, make_records(1, start=88))
    assert gone.manifest.meta["before_split"] == again.manifest.meta["before_split"] == "test"
    np.testing.assert_array_equal(again.history.citing[:88], gone.history.citing)
    assert not again.history.citing[[80, 88]].any()


def test_additions_do_not_change_what_is_known_of_a_corpus_split_by_year(corpus: Corpus, root: Path) -> None:
    """A new test paper of an early year makes the years overlap; what the index knows of the old papers stays."""
    split = Split.by_year(corpus, 2005, 2007).without(np.arange(len(corpus)) % 5 == 0)
    by_year = with_split(corpus, split, root.parent / "by-year")
    old = IndexSnapshot.create(by_year, root, before_split="test")
    assert old.history.citing.sum() == (by_year.years <= 2007).sum()
    late = PaperRecord("late", "An early test paper", year=2001, citations=("p1",), split="test")
    new = IndexSnapshot.add(root, [late])
    np.testing.assert_array_equal(new.history.citing, [*old.history.citing, False])
    assert len(new.contexts) == len(old.contexts)


def test_new_vectors_leave_all_else_as_it_is(corpus: Corpus, root: Path, encoder: HashEncoder) -> None:
    gone = HashEncoder("gone-1", name="gone")
    IndexSnapshot.create(corpus, root, known_until=2007, encoders=[encoder, gone])
    IndexSnapshot.add(root, make_records(3, start=80, seed=9), encoders=[encoder, gone])
    old = IndexSnapshot.remove(root, ["p4"])
    encoder.encoded, other = 0, HashEncoder("other-1", dimension=8, name="other")
    new = IndexSnapshot.reembed(root, [encoder, other])
    assert (new.version, encoder.encoded, other.encoded) == ("000004", 0, 83)
    assert new.encoder_ids == new.manifest.meta["encoder_ids"] == {"hash": "hash-1", "other": "other-1"}
    assert new.manifest.meta["vectors"].keys() == {"hash", "other"}
    assert (new.manifest.meta["known_until"], new.manifest.meta["alive"]) == (2007, 82)
    queries = queries_of(corpus, range(60, 70))
    assert_same_answers(new, old, queries)
    for each in (encoder, other):
        found = VectorRetriever(new, each).search(queries, 83).rows
        assert 82 in found, each.name
        assert 4 not in found, each.name
    np.testing.assert_allclose(
        new.vectors["other"].raw, other.encode_papers(new.corpus, np.arange(83)), atol=1e-6
    )
    # A new encoder of a name replaces the vectors, and papers are added by it from then on.
    better = HashEncoder("hash-2")
    assert IndexSnapshot.reembed(root, [better]).encoder_ids == {"hash": "hash-2"}
    assert len(IndexSnapshot.add(root, make_records(1, start=83), encoders=[better])) == 84
    verify_index(root)


def test_removed_papers_are_not_retrieved_and_do_not_vote(
    corpus: Corpus, root: Path, encoder: HashEncoder
) -> None:
    first = IndexSnapshot.create(corpus, root, encoders=[encoder])
    queries = queries_of(corpus, [len(corpus.contexts) - 1])
    gone = IndexSnapshot.remove(root, ["p4", "p60"])
    assert gone.manifest.meta["alive"] == 78
    for retriever in (
        Bm25Retriever(gone, "title"),
        CitingSentences(gone),
        Neighbours(gone),
        VectorRetriever(gone, encoder),
    ):
        rows = retriever.search(queries, 80).rows
        assert not np.isin([4, 60], rows).any(), retriever.name
    assert (rows >= 0).sum() == 77
    assert not np.isin(60, gone.context_papers)
    # What remains says of each paper what it said before, and no other paper's score changes by a bit.
    fresh = Index.build(corpus, gone.history)
    for ours, theirs in ((gone.anchors.whole, fresh.anchors.whole), (gone.anchors.near, fresh.anchors.near)):
        np.testing.assert_array_equal(ours.lengths, theirs.lengths)
    others = np.setdiff1d(np.arange(80), np.concatenate([corpus.cites[4], corpus.cites[60]]))
    asked = queries_of(corpus, range(100, 110))
    after, before = (anchor_scores(index, asked)[:, :, others] for index in (gone, first))
    np.testing.assert_array_equal(after, before)
    kept = ~np.isin(first.context_papers, [4, 60])
    np.testing.assert_array_equal(
        gone.contexts.scores(["parsing"]), first.contexts.scores(["parsing"])[:, kept]
    )
    assert not len(gone.history.cites[60])
    assert 60 not in Neighbours(gone).nearest(queries).rows
    again = IndexSnapshot.add(root, make_records(2, start=80), encoders=[encoder])
    assert not again.alive[[4, 60]].any()
    assert not np.isin(60, again.context_papers)
    with pytest.raises(NotFoundError, match="'nobody'"):
        IndexSnapshot.remove(root, ["p1", "nobody"])
    assert IndexSnapshot.open(root).version == again.version


def test_an_old_version_can_be_opened(corpus: Corpus, root: Path) -> None:
    IndexSnapshot.create(corpus, root)
    IndexSnapshot.remove(root, ["p1"])
    assert IndexSnapshot.open(root, "000001").alive.all()
    with pytest.raises(NotFoundError, match="'000009'"):
        IndexSnapshot.open(root, "000009")


def test_a_reader_sees_one_version_whole_while_others_are_made(corpus: Corpus, root: Path) -> None:
    IndexSnapshot.create(corpus, root)
    seen, failures, stop = [], [], threading.Event()

    def read() -> None:
        while not stop.is_set():
            try:
                snapshot = IndexSnapshot.open(root)
                sizes = {len(snapshot.corpus), len(snapshot.alive), *map(len, snapshot.papers.values())}
                found = Bm25Retriever(snapshot, "title").search([Query("q", title="parsing")], 5)
                seen.append((snapshot.version, sizes, int((found.rows >= 0).sum())))
            except Exception as error:
                failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for start in (80, 84, 88):
        IndexSnapshot.add(root, make_records(4, start=start), keep=1)
    while not seen and reader.is_alive() and not failures:
        time.sleep(0.01)
    stop.set()
    reader.join(300)
    assert not failures
    expected = {"000001": {80}, "000002": {84}, "000003": {88}, "000004": {92}}
    assert seen
    assert all(sizes == expected[version] and count == 5 for version, sizes, count in seen)


def test_vectors_of_another_encoder_are_refused(corpus: Corpus, root: Path, encoder: HashEncoder) -> None:
    index = IndexSnapshot.create(corpus, root, encoders=[encoder])
    with pytest.raises(InputError, match="made by encoder hash-1, not hash-2"):
        VectorRetriever(index, HashEncoder("hash-2"))
    with pytest.raises(InputError, match="hash-2"):
        IndexSnapshot.add(root, make_records(1, start=80), encoders=[HashEncoder("hash-2")])
    with pytest.raises(InputError, match="--model"):
        IndexSnapshot.add(root, make_records(1, start=80))
    assert IndexSnapshot.open(root).version == "000001"
    bare = Index.build(corpus, History.all(corpus))
    with pytest.raises(InputError, match="no vectors"):
        VectorRetriever(bare, encoder)


def test_vectors_of_several_encoders_live_side_by_side(
    corpus: Corpus, root: Path, encoder: HashEncoder
) -> None:
    other = HashEncoder("other-1", 8, name="other")
    index = IndexSnapshot.create(corpus, root, encoders=[encoder, other])
    assert {name: vectors.dimension for name, vectors in index.vectors.items()} == {"hash": 16, "other": 8}
    assert index.manifest.meta["vectors"] == {"hash": "flat", "other": "flat"}
    assert index.encoder_ids == {"hash": "hash-1", "other": "other-1"}
    with pytest.raises(InputError, match="vectors of other"):
        IndexSnapshot.add(root, make_records(3, start=80), encoders=[encoder])
    grown = IndexSnapshot.add(root, make_records(3, start=80), encoders=[encoder, other])
    gone = IndexSnapshot.remove(root, ["p3"])
    for name, maker in (("hash", encoder), ("other", other)):
        assert len(grown.vectors[name]) == 83
        rows = VectorRetriever(gone, maker).search([Query("q", title=corpus.paper(3).title)], 82).rows
        assert set(rows[0].tolist()) == set(range(83)) - {3}
    alone = index.with_vectors(HashEncoder("other-2", 4, name="other"))
    assert alone.vectors["hash"] is index.vectors["hash"]
    with pytest.raises(InputError, match="made by encoder other-2, not other-1"):
        VectorRetriever(alone, other)


def test_damage_is_named(corpus: Corpus, root: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no index"):
        IndexSnapshot.open(root)
    snapshot = IndexSnapshot.create(corpus, root)
    assert verify_index(root).meta["papers"] == 80
    path = snapshot.path / "papers" / "title" / "idf.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 255
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match=r"papers/title/idf.npy: damaged"):
        verify_index(root)
    path.write_bytes(data[:-8])
    with pytest.raises(IntegrityError, match=r"papers/title/idf.npy: damaged: \d+ bytes where"):
        IndexSnapshot.open(root)
    (root / "CURRENT").write_text("nonsense")
    with pytest.raises(IntegrityError, match="nonsense"):
        IndexSnapshot.open(root)


def test_an_index_of_an_earlier_layout_is_to_be_built_again(corpus: Corpus, root: Path) -> None:
    path = IndexSnapshot.create(corpus, root).path
    manifest = json.loads((path / "manifest.json").read_text())
    renamed = {name.replace("papers/", "bm25-papers/"): of for name, of in manifest["files"].items()}
    manifest["files"] = renamed
    del manifest["sha256"]  # it wrote none
    (path / "manifest.json").write_text(json.dumps(manifest))
    (path / "papers").rename(path / "bm25-papers")
    with pytest.raises(InputError, match=r"another layout.*\n?.*build it again"):
        IndexSnapshot.open(root)


def test_a_version_without_tables_of_names_is_read_and_changed(corpus: Corpus, root: Path) -> None:
    whole = IndexSnapshot.create(corpus, root)
    shutil.rmtree(whole.path / "names")
    seal(whole.path, kind=whole.manifest.kind, meta=whole.manifest.meta)
    tables = IndexSnapshot.open(root).name_tables
    assert whole.name_tables is whole.names is not None
    expected = {name: rows.tolist() for name, rows in papers_by_author(whole).items()}
    assert {
        name: rows.tolist() for name, rows in papers_by_author(IndexSnapshot.open(root)).items()
    } == expected
    assert tables.venues.hashes.tolist() == whole.names.venues.hashes.tolist()
    for changed in (IndexSnapshot.remove(root, ["p1"]), IndexSnapshot.add(root, make_records(4, start=80))):
        assert (changed.path / "names").is_dir()
        expected |= {f"a{i % 5}": [*expected[f"a{i % 5}"], i] for i in range(80, len(changed))}
        assert {name: rows.tolist() for name, rows in papers_by_author(changed).items()} == expected


def papers_by_author(index: Index) -> dict[str, np.ndarray]:
    authors = index.name_tables.authors
    return {f"a{i}": authors.papers[authors.find([f"a{i}"])[0]] for i in range(5)}


def test_an_empty_corpus_can_be_indexed_and_grows(root: Path, tmp_path: Path, encoder: HashEncoder) -> None:
    empty = build([], tmp_path / "empty")
    index = IndexSnapshot.create(empty, root, encoders=[encoder])
    assert Bm25Retriever(index, "title").search([Query("q", title="parsing")], 5).rows.shape == (1, 0)
    grown = IndexSnapshot.add(root, make_records(9), encoders=[encoder])
    assert VectorRetriever(grown, encoder).search([Query("q", title="parsing")], 5).rows.shape == (1, 5)
    assert (Bm25Retriever(grown, "title").search([Query("q", title="parsing")], 5).scores[0] > 0).any()


def test_k1_and_b_of_a_field_are_kept_whatever_becomes_of_the_index(corpus: Corpus, root: Path) -> None:
    asked = Bm25Fields.from_options(["text.k1=2", "text.b=0.3"], option="--bm25")
    snapshot = IndexSnapshot.create(corpus, root, bm25=asked)
    queries = queries_of(corpus, range(20))
    texts = [strip_marks(query.context) for query in queries]
    for name, k1, b in (("text", 2, 0.3), ("title", 1.2, 0.75)):
        fresh = Bm25Index.build(paper_texts(corpus, name), k1=k1, b=b)
        np.testing.assert_allclose(snapshot.papers[name].scores(texts), fresh.scores(texts), rtol=1e-6)
    assert_same_answers(snapshot, Index.build(corpus, History.all(corpus), bm25=asked), queries)
    assert (snapshot.contexts.k1, snapshot.anchors.whole.b) == (1.2, 0.75)
    IndexSnapshot.add(root, make_records(4, start=80, seed=1))
    IndexSnapshot.remove(root, ["p3"])
    last = IndexSnapshot.open(root)
    assert len(last) == 84
    assert last.bm25 == asked
    assert last.rewind(2005).bm25 == asked
    assert all(entry["bm25"] == {"text.k1": 2.0, "text.b": 0.3} for entry in list_versions(root))
    assert IndexSnapshot.create(corpus, root).bm25.changed() == {}

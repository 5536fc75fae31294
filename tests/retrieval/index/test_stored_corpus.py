"""The store of an index version: without body sentences where no encoder reads them, and all else as imported."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
import pytest
from helpers.same_answers import assert_same_answers
from helpers.topic_corpus import HashEncoder, make_records, queries_of
from numpy.typing import NDArray

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.records import Record, SentenceRecord
from cocite.corpus.store import BODY_FILES, Corpus
from cocite.errors import InputError, IntegrityError
from cocite.hard_links import link_folder
from cocite.manifests import MANIFEST
from cocite.retrieval.index import snapshot
from cocite.retrieval.index.reuse import index_of
from cocite.retrieval.index.sizes import part_sizes
from cocite.retrieval.index.snapshot import IndexSnapshot, verify_index
from cocite.retrieval.index.stored_corpus import link_corpus, read_bodies
from cocite.retrieval.vector_retriever import VectorRetriever

NONE = r"corpus: holds no body sentences: .* \(build the index with that model, or use the imported store\)"


class BodyEncoder(HashEncoder):
    """Reads the first sentence of each body beside title and abstract."""

    def __init__(self) -> None:
        super().__init__("body-1", 8, name="body")

    def reading(self, corpus: Corpus) -> Self:
        assert len(corpus.sentence_indptr) == len(corpus) + 1
        return self

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        self.encoded += len(rows)
        titles, first = corpus.papers.take("title", rows), corpus.sentence_indptr[rows]
        texts = zip(titles, corpus.sentences.take("text", first), strict=True)
        return self._encode([" ".join(pair) for pair in texts])


def with_bodies(papers: int, **options: int) -> list[Record]:
    """Records of papers with two body sentences each."""
    records = make_records(papers, **options)
    ids = [f"p{i}" for i in range(options.get("start", 0), options.get("start", 0) + papers)]
    return [*records, *(SentenceRecord(id_, k, f"sentence {k} of {id_}") for id_ in ids for k in range(2))]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(with_bodies(80), tmp_path_factory.mktemp("whole") / "store")


def names(path: Path) -> set[str]:
    return {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}


def assert_without_bodies(corpus: Corpus) -> None:
    assert not corpus.has_bodies
    assert not names(corpus.path) & set(BODY_FILES)
    with pytest.raises(InputError, match=NONE):
        _ = corpus.sentences
    with pytest.raises(InputError, match=NONE):
        _ = corpus.sentence_indptr


def test_all_other_files_are_the_stores(whole: Corpus, tmp_path: Path) -> None:
    link_corpus(whole, tmp_path / "corpus", bodies=False)
    linked = Corpus.open(tmp_path / "corpus")
    assert_without_bodies(linked)
    assert Corpus.verify(linked.path).files == {
        name: entry for name, entry in whole.manifest.files.items() if name not in BODY_FILES
    }
    assert all((linked.path / name).samefile(whole.path / name) for name in linked.manifest.files)
    assert (linked.version, linked.counts, len(linked)) == (whole.version, whole.counts, 80)
    assert linked.papers_at(range(80)) == whole.papers_at(range(80))
    assert linked.contexts.table == whole.contexts.table
    link_corpus(linked, tmp_path / "again", bodies=False)
    assert (tmp_path / "again" / MANIFEST).read_bytes() == (linked.path / MANIFEST).read_bytes()
    link_corpus(whole, tmp_path / "all", bodies=True)
    assert names(tmp_path / "all") == names(whole.path)
    (linked.path / "ids.npy").unlink()
    with pytest.raises(IntegrityError, match=r"ids\.npy: the file is missing"):
        Corpus.open(linked.path)


def test_which_encoders_read_bodies(encoder: HashEncoder) -> None:
    assert [read_bodies(of) for of in ([], [encoder], [encoder, BodyEncoder()])] == [False, False, True]


def test_an_index_is_of_its_corpus_with_and_without_bodies(
    whole: Corpus, root: Path, encoder: HashEncoder
) -> None:
    saved = IndexSnapshot.create(whole, root, encoders=[encoder])
    assert_without_bodies(saved.corpus)
    assert saved.corpus.version == saved.manifest.meta["corpus"] == whole.version
    # All that is there is covered by the version's manifest, the store's rewritten one included.
    assert {f"corpus/{name}" for name in names(saved.corpus.path)} <= verify_index(root).files.keys()
    assert not [part for part in part_sizes(root) if part.part == "corpus: sentences"]
    queries = queries_of(whole, range(40, 60))
    assert_same_answers(saved, index_of(whole, History.all(whole)), queries)
    # Vectors that need bodies are made of the imported store, and of the index' own one they cannot be.
    reader = BodyEncoder()
    index = index_of(whole, History.until(whole, 2006), [encoder, reader], saved=saved)
    assert index.corpus.has_bodies
    fresh = index_of(whole, History.until(whole, 2006), [encoder, reader])
    assert_same_answers(index, fresh, queries)
    one, two = (VectorRetriever(made, reader).search(queries, 9).rows for made in (index, fresh))
    np.testing.assert_array_equal(one, two)
    with pytest.raises(InputError, match=NONE):
        index_of(saved.corpus, History.until(whole, 2006), [reader], saved=saved)
    with pytest.raises(InputError, match=NONE):
        saved.with_vectors(reader)
    with pytest.raises(InputError, match=NONE):
        IndexSnapshot.create(saved.corpus, root.parent / "other", encoders=[reader])
    assert not (root.parent / "other").exists()
    encoder.encoded = 0
    again = IndexSnapshot.create(saved.corpus, root, encoders=[encoder])
    assert (encoder.encoded, again.corpus.version) == (0, whole.version)


def test_an_index_keeps_the_bodies_that_its_encoder_reads(whole: Corpus, root: Path) -> None:
    reader = BodyEncoder()
    without = IndexSnapshot.create(whole, root)
    saved = IndexSnapshot.create(whole, root, encoders=[reader])
    assert names(saved.corpus.path) == names(whole.path)
    assert "corpus: sentences" in {part.part for part in part_sizes(root)}
    grown = IndexSnapshot.add(root, with_bodies(4, start=80), encoders=[reader])
    assert np.diff(grown.corpus.sentence_indptr).tolist() == [2] * 84
    assert grown.corpus.sentences.take("text", [167]) == ["sentence 1 of p83"]
    gone = IndexSnapshot.remove(root, ["p3"])
    assert gone.corpus.has_bodies
    assert VectorRetriever(gone, reader).search(queries_of(whole, [9]), 5).rows.shape == (1, 5)
    assert without.corpus.version == saved.corpus.version != grown.corpus.version


def test_additions_have_no_bodies_either(whole: Corpus, root: Path, tmp_path: Path) -> None:
    records = with_bodies(4, start=80)
    more = build(records, tmp_path / "more", base=whole)
    IndexSnapshot.create(whole, root)
    grown = IndexSnapshot.add(root, records)
    assert_without_bodies(grown.corpus)
    for name in names(grown.corpus.path) - {MANIFEST}:
        assert (grown.corpus.path / name).read_bytes() == (more.path / name).read_bytes(), name
    assert grown.corpus.version not in (whole.version, more.version)
    gone = IndexSnapshot.remove(root, ["p3", "p82"])
    assert_without_bodies(gone.corpus)
    assert gone.corpus.version == grown.corpus.version
    verify_index(root)


def test_an_earlier_index_that_holds_all_bodies_is_read_as_before(
    whole: Corpus, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(snapshot, "link_corpus", lambda corpus, to, bodies: link_folder(corpus.path, to))
        saved = IndexSnapshot.create(whole, root)
    assert saved.corpus.version == whole.version
    assert saved.corpus.sentences.table == whole.sentences.table
    reader = BodyEncoder()
    assert len(saved.with_vectors(reader).vectors["body"]) == reader.encoded == 80
    assert index_of(whole, saved.history, saved=saved).corpus is saved.corpus
    assert IndexSnapshot.remove(root, ["p3"]).corpus.has_bodies
    assert_without_bodies(IndexSnapshot.add(root, with_bodies(4, start=80)).corpus)

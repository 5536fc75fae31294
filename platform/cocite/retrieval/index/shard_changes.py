"""Writing a shard of a new version from one of the version before: what changes is written, all else is linked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.artifacts import seal
from cocite.hard_links import link_file
from cocite.manifests import MANIFEST
from cocite.retrieval.engines.anchor_texts import AnchorChange, AnchorTexts
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_changes import with_words, without_documents
from cocite.retrieval.engines.bm25_files import save_indexes
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.retrieval.index.documents import INSIDE
from cocite.retrieval.index.shard_layout import CONTEXTS, PAPERS, SHARD_KIND
from cocite.retrieval.index.version_writer import linked_entries
from cocite.retrieval.shards.shard import IndexShard

WITHOUT_LISTS = ("whole", "near")
"""Indexes that only score chosen papers."""
Idf = Mapping[str, NDArray[np.float64]]
"""By field, the inverse document frequencies of all words that the index knows now."""


@dataclass(frozen=True)
class JoiningPapers:
    """Papers that join a shard, behind the present ones.

    Attributes:
        fields: by ``text`` and ``title``, (n, V) the word counts of the papers.
        contexts: by ``contexts`` and ``windows``, (m, W) those of their known contexts.
        vectors: by the encoder's name, (n, d).
        years: (n,) of the papers, 0 where unknown.

    Example:
        >>> nothing = sp.csr_matrix((0, 4), dtype=np.int32)
        >>> none = JoiningPapers({"text": nothing}, {"contexts": nothing}, {}, np.zeros(0, np.int16))
        >>> len(none)
        0
    """

    fields: Mapping[str, sp.csr_matrix]
    contexts: Mapping[str, sp.csr_matrix]
    vectors: Mapping[str, NDArray[np.float32]]
    years: NDArray[Any]

    def __len__(self) -> int:
        return len(self.years)


@dataclass(frozen=True)
class ShardChange:
    """What a new version changes in one shard; without arguments, nothing.

    Attributes:
        kept: (C,) the contexts that remain; None: all.
        alive: (n,) the papers that are not removed; None: as before.
        anchors: what is added to the anchor texts of the shard's papers, or taken away, whose rows are the shard's.
        joining: papers that join it.

    Example:
        >>> ShardChange().is_empty, ShardChange(alive=np.array([True, False])).is_empty
        (True, False)
    """

    kept: NDArray[np.bool_] | None = None
    alive: NDArray[np.bool_] | None = None
    anchors: AnchorChange | None = None
    joining: JoiningPapers | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the shard stays as it is."""
        return self.kept is None and self.alive is None and self.anchors is None and self.joining is None


def empty_like(shard: IndexShard, papers: int, contexts: int) -> IndexShard:
    """A shard of no paper that weighs words as another one does.

    Args:
        shard: the other.
        papers, contexts: how many of all lie before it.
    """

    def empty(index: Bm25Index) -> Bm25Index:
        return index.like({}, sp.csr_matrix((0, index.counts.shape[1]), dtype=np.int32), index.idf)

    return IndexShard(
        first=papers,
        first_context=contexts,
        papers={name: empty(index) for name, index in shard.papers.items()},
        contexts=empty(shard.contexts),
        anchors=AnchorTexts(*(empty(index) for index in vars(shard.anchors).values())),
        vectors={},
        years=shard.years[:0],
        alive=None,
    )


@dataclass(frozen=True)
class ShardRewriter:
    """Writes one shard of a new version.

    Attributes:
        shard: as it is; opened.
        source: its folder; None where it is made for papers that join.
        folder: of the shard in the new version.
        idf: of all words.
        encoder_ids: the id of each encoder of the index.
        vector_kind: how the vectors of a new shard are searched.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.sharded_index import ShardedIndex
        >>> from cocite.retrieval.index.shard_layout import shard_folder
        >>> with tempfile.TemporaryDirectory() as root:
        ...     index = ShardedIndex.create(starter_corpus(), root, shards=3)
        ...     shard, source = index.local_shards[0], shard_folder(index.path, 0)
        ...     described = ShardRewriter(shard, source, Path(root, "again")).write(ShardChange())
        >>> described["papers"]
        141
    """

    shard: IndexShard
    source: Path | None
    folder: Path
    idf: Idf = field(default_factory=dict)
    encoder_ids: Mapping[str, str] = field(default_factory=dict)
    vector_kind: str = "auto"

    def write(self, change: ShardChange) -> dict[str, Any]:
        """Write the shard; returns what the version's manifest says of it."""
        self.folder.mkdir(parents=True)
        contexts = len(self.shard.contexts)
        for group, indexes in self._changed_indexes(change):
            save_indexes(indexes, self.folder / group, inside=INSIDE, without_lists=WITHOUT_LISTS)
            contexts = len(indexes["contexts"]) if "contexts" in indexes else contexts
        if change.joining is not None:
            self._join_vectors(change.joining)
            np.save(self.folder / "years.npy", np.concatenate([self.shard.years, change.joining.years]))
        papers = len(self.shard) + (0 if change.joining is None else len(change.joining))
        if change.alive is not None or change.joining is not None:
            np.save(self.folder / "alive.npy", self._alive(change, papers))
        meta = {"papers": papers, "contexts": contexts, "encoder_ids": dict(self.encoder_ids)}
        known = {}
        if self.source is not None:
            self._link_the_rest(self.source)
            known = linked_entries(self.folder, self.source)
        return {**meta, "digest": seal(self.folder, kind=SHARD_KIND, meta=meta, known=known).digest}

    def _changed_indexes(self, change: ShardChange) -> Iterator[tuple[str, dict[str, Bm25Index]]]:
        """The BM25 indexes that are written, a field and the one inside it at a time, with their folder's name."""
        return chain(self._papers(change), self._contexts(change), self._anchors(change))

    def _papers(self, change: ShardChange) -> Iterator[tuple[str, dict[str, Bm25Index]]]:
        if change.joining is not None:
            yield (
                PAPERS,
                {
                    name: self.shard.papers[name].append_counts({}, counts, self.idf[name])
                    for name, counts in change.joining.fields.items()
                },
            )

    def _contexts(self, change: ShardChange) -> Iterator[tuple[str, dict[str, Bm25Index]]]:
        present = {"contexts": self.shard.contexts, "windows": self.shard.anchors.windows}
        if (kept := change.kept) is not None:
            yield CONTEXTS, {name: without_documents(index, kept) for name, index in present.items()}
        elif (joining := change.joining) is not None:
            yield (
                CONTEXTS,
                {
                    name: index.append_counts({}, joining.contexts[name], self.idf[name])
                    for name, index in present.items()
                },
            )

    def _anchors(self, change: ShardChange) -> Iterator[tuple[str, dict[str, Bm25Index]]]:
        """The anchor texts, with an empty one for each paper that joins and no known context cites."""
        change_of = change.anchors
        if change_of is None and change.joining is not None:
            columns = len(self.idf["whole"])
            nothing = sp.csr_matrix((0, columns), dtype=np.int32)
            change_of = AnchorChange(np.zeros(0, np.int64), nothing, nothing)
        if change_of is not None:
            papers = len(self.shard) + (0 if change.joining is None else len(change.joining))
            changed = {}
            for name in ("whole", "near"):
                index, words = getattr(self.shard.anchors, name), getattr(change_of, name)
                idf = self.idf[name][: max(words.shape[1], index.counts.shape[1])]
                changed[name] = with_words(index, change_of.papers, words, count=papers, idf=idf)
            yield CONTEXTS, changed

    def _join_vectors(self, joining: JoiningPapers) -> None:
        for name, new in joining.vectors.items():
            present = self.shard.vectors.get(name)
            vectors = VectorIndex.build(new, self.vector_kind) if present is None else present.append(new)
            vectors.save(self.folder / "vectors" / name)

    def _alive(self, change: ShardChange, papers: int) -> NDArray[np.bool_]:
        alive = np.ones(papers, bool)
        present = self.shard.alive if change.alive is None else change.alive
        if present is not None:
            alive[: len(present)] = present
        return alive

    def _link_the_rest(self, source: Path) -> None:
        """Link every file of the shard as it was that was not written."""
        for path in sorted(source.rglob("*")):
            name = path.relative_to(source)
            if path.is_file() and name.name != MANIFEST and not (self.folder / name).exists():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                link_file(path, self.folder / name)

"""New versions of an index in shards: papers join or leave, and only the shards that hold their words are written.

New papers join the last shard while it is smaller than the largest one, and else make a shard of their own. Their
words are weighed by the statistics of the last full build, as in an index that is searched whole: the idf of known
words and the mean lengths stay, and a new word gets the formula's idf. The vocabularies grow at their ends, so that the
words of other shards keep their numbers. The last shard knows all words, and so the idf of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.corpus.records import Record
from cocite.hard_links import link_folder
from cocite.protocols import Encoder
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.anchor_texts import AnchorChange, cited_at
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_weights import extended_idf
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.documents import (
    Advance,
    context_texts,
    encode,
    ignore_progress,
    with_progress,
)
from cocite.retrieval.index.paper_indexes import count_papers
from cocite.retrieval.index.shard_changes import (
    JoiningPapers,
    ShardChange,
    ShardRewriter,
    empty_like,
)
from cocite.retrieval.index.shard_layout import CONTEXTS, PAPERS, WORDS, save_words, shard_folder
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.successors import (
    encoders_by_name,
    find_papers,
    grown_collection,
    inherited_meta,
)
from cocite.retrieval.index.version_writer import NAMES, describe, new_version
from cocite.retrieval.index.versions import KEEP, VersionedFolder
from cocite.text.gaps import around_gap


def add_to_shards(
    root: str | Path,
    records: Iterable[Record],
    *,
    encoders: Sequence[Encoder] = (),
    rejects: str | Path | None = None,
    keep: int = KEEP,
    advance: Advance = ignore_progress,
) -> ShardedIndex:
    """A new version of an index in shards, with more papers, links and contexts.

    Args:
        root, records, encoders, rejects, keep, advance: as in
            :meth:`~cocite.retrieval.index.snapshot.IndexSnapshot.add`.
    """
    VersionedFolder(root).current()  # raises where no index is, before a lock is made there
    meta: dict[str, Any] = {}
    with new_version(Path(root), meta, keep) as folder:
        old = ShardedIndex.open(root)
        present = encoders_by_name(old, encoders, root)
        meta |= inherited_meta(old)
        new = grown_collection(old, records, folder, present.values(), rejects)
        addition = _Addition(old, new, present, advance)
        successor = _Successor(old, folder, addition.idf)
        changes = addition.changes()
        addition.save_words(folder)
        new.name_tables.save(folder / NAMES)
        meta |= successor.write(changes) | describe(new, folder, len(new.history.contexts))
        old.close()
    return ShardedIndex.open(root, verified=True)


def remove_from_shards(root: str | Path, ids: Sequence[str], *, keep: int = KEEP) -> ShardedIndex:
    """A new version of an index in shards, in which some papers are never found, do not vote and are no evidence.

    Args:
        root, ids, keep: as in :meth:`~cocite.retrieval.index.snapshot.IndexSnapshot.remove`.
    """
    VersionedFolder(root).current()
    meta: dict[str, Any] = {}
    with new_version(Path(root), meta, keep) as folder:
        old = ShardedIndex.open(root)
        rows = find_papers(old.corpus, ids, root)
        meta |= inherited_meta(old)
        for part in ("corpus", WORDS):
            link_folder(old.path / part, folder / part)
        removal = _Removal(old, rows)
        if (old.path / NAMES).is_dir():
            link_folder(old.path / NAMES, folder / NAMES)
        else:
            removal.collection.name_tables.save(folder / NAMES)
        meta |= _Successor(old, folder, _idf(old)).write(removal.changes())
        meta |= describe(removal.collection, folder, int(removal.kept.sum()))
        old.close()
    return ShardedIndex.open(root, verified=True)


def _idf(index: ShardedIndex) -> dict[str, NDArray[np.float64]]:
    """By field, the idf of all words."""
    last = index.local_shards[-1]
    fields = {**last.papers, "contexts": last.contexts, **vars(last.anchors)}
    return {name: of_field.idf for name, of_field in fields.items()}


@dataclass(frozen=True)
class _Successor:
    """The shards of a new version.

    Attributes:
        old: the version before.
        folder: of the new version.
        idf: by field, that of all words.
    """

    old: ShardedIndex
    folder: Path
    idf: Mapping[str, NDArray[np.float64]]

    def write(self, changes: Sequence[ShardChange]) -> dict[str, Any]:
        """Write or link every shard; a change behind those of the present shards makes a new one."""
        described = [self._write(number, change) for number, change in enumerate(changes)]
        return {"shards": described, "vectors": self.old.manifest.meta["vectors"]}

    def _write(self, number: int, change: ShardChange) -> dict[str, Any]:
        present, shards = self.old.manifest.meta["shards"], self.old.local_shards
        folder = shard_folder(self.folder, number)
        if number == len(present):
            shard = empty_like(shards[-1], len(self.old), len(self.old.history.contexts))
            return ShardRewriter(shard, None, folder, self.idf, self.old.encoder_ids).write(change)
        source = shard_folder(self.old.path, number)
        if change.is_empty:
            link_folder(source, folder)
            return dict(present[number])
        return ShardRewriter(shards[number], source, folder, self.idf, self.old.encoder_ids).write(change)


class _Addition:
    """What papers that join change.

    Args:
        old: the index.
        new: its papers with the new ones behind.
        encoders: those of the index, by name.
        advance: receives the number of texts and vectors made.
    """

    def __init__(
        self, old: ShardedIndex, new: Collection, encoders: Mapping[str, Encoder], advance: Advance
    ) -> None:
        self.old, self.new = old, new
        self.first, self.known = len(old), new.history.contexts[len(old.history.contexts) :]
        self.papers, self.contexts = (
            dict(old.words["text"].vocabulary),
            dict(old.words["contexts"].vocabulary),
        )
        tokenizer = old.words["text"].tokenizer
        text, title = count_papers(new.corpus, tokenizer, self.papers, self.first, advance=advance)
        fields = {"text": text, "title": title}
        texts = with_progress(context_texts(new.corpus, self.known), advance)
        contexts = {"contexts": self._count(texts)}
        # Every word of a window stands in its context, so that none is new.
        contexts["windows"] = self._count(context_texts(new.corpus, self.known, around_gap))
        vectors = {
            name: encode(new.corpus, encoder, start=self.first, advance=advance)
            for name, encoder in encoders.items()
        }
        self.joining = JoiningPapers(fields, contexts, vectors, new.corpus.years[self.first :])

    def _count(self, texts: Iterable[str]) -> sp.csr_matrix:
        numbers = self.old.words["contexts"].tokenizer.learn(texts, self.contexts)
        return matrices.counted(*numbers, columns=len(self.contexts))

    @cached_property
    def anchors(self) -> AnchorChange:
        """What the new contexts say of papers of all shards."""
        counts = self.joining.contexts
        return AnchorChange.of(counts["contexts"], counts["windows"], cited_at(self.new.corpus, self.known))

    @cached_property
    def idf(self) -> dict[str, NDArray[np.float64]]:
        """By field, that of known and new words."""
        papers, contexts = len(self.new), len(self.new.history.contexts)
        counted = {name: (counts, papers) for name, counts in self.joining.fields.items()}
        counted |= {name: (counts, contexts) for name, counts in self.joining.contexts.items()}
        counted |= {"whole": (self.anchors.whole, papers), "near": (self.anchors.near, papers)}
        return {
            name: extended_idf(
                known,
                np.bincount(counted[name][0].indices, minlength=counted[name][0].shape[1]),
                counted[name][1],
            )
            for name, known in _idf(self.old).items()
        }

    def changes(self) -> list[ShardChange]:
        """Those of every shard, in order, and of the new one if there is one."""
        sizes = [len(shard) for shard in self.old.local_shards]
        if sizes[-1] + len(self.joining) > max(sizes):
            sizes.append(0)
        sizes[-1] += len(self.joining)
        ends = np.cumsum(sizes).tolist()
        parts = [self.anchors.part(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        changes = [ShardChange(anchors=part if len(part.papers) else None) for part in parts]
        changes[-1] = ShardChange(anchors=changes[-1].anchors, joining=self.joining)
        return changes

    def save_words(self, folder: Path) -> None:
        """Write the vocabularies with the idf of all words."""

        def longer(name: str, vocabulary: dict[str, int]) -> Bm25Index:
            nothing = sp.csr_matrix((0, len(vocabulary)), dtype=np.int32)
            return self.old.words[name].like(vocabulary, nothing, self.idf[name])

        papers = {name: longer(name, self.papers) for name in ("text", "title")}
        save_words(folder, {PAPERS: papers, CONTEXTS: {"contexts": longer("contexts", self.contexts)}})


class _Removal:
    """What papers that leave change.

    Args:
        old: the index.
        rows: of the papers.
    """

    def __init__(self, old: ShardedIndex, rows: NDArray[np.int32]) -> None:
        self.old = old
        self.collection = old.without(rows)
        self.kept = self.collection.history.citing[old.context_papers]

    @cached_property
    def anchors(self) -> AnchorChange:
        """What the contexts that leave said of papers of all shards."""
        counts: dict[str, list[sp.csr_matrix]] = {"contexts": [], "windows": []}
        shards = self.old.local_shards
        columns = max(shard.contexts.counts.shape[1] for shard in shards)
        for shard in shards:
            chosen = np.flatnonzero(~self._kept_in(shard))
            for name, index in (("contexts", shard.contexts), ("windows", shard.anchors.windows)):
                counts[name].append(matrices.widened(index.counts.rows(chosen), columns))
        contexts, windows = (sp.vstack(parts, format="csr") for parts in counts.values())
        cited = cited_at(self.old.corpus, self.old.history.contexts[~self.kept])
        return AnchorChange.of(contexts, windows, cited, times=-1)

    def changes(self) -> list[ShardChange]:
        """Those of every shard, in order."""
        changes = []
        for shard in self.old.local_shards:
            papers = slice(shard.first, shard.first + len(shard))
            alive, kept = self.collection.alive[papers], self._kept_in(shard)
            anchors = self.anchors.part(papers.start, papers.stop)
            change = ShardChange(
                kept=None if kept.all() else kept,
                alive=None if np.array_equal(alive, self.old.alive[papers]) else alive,
                anchors=anchors if len(anchors.papers) else None,
            )
            changes.append(change)
        return changes

    def _kept_in(self, shard: Any) -> NDArray[np.bool_]:
        return self.kept[shard.first_context : shard.first_context + len(shard.contexts)]

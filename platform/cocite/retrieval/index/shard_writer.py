"""Writing the shards of an index version: one shard's words in memory at a time, weighed by those of all.

Three passes. The texts of each shard are counted, with one vocabulary; the counts are saved, and their statistics are
added up. Then the counts are mapped and weighed by the statistics of all shards. At last come the anchor texts of each
shard's papers, whose words lie in the contexts of all shards, and the vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cocite.artifacts import seal
from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.protocols import Encoder
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import USUAL, Bm25Fields, Bm25Settings
from cocite.retrieval.engines.bm25_files import load_counts, save_counts, save_group, save_weights
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.documents import (
    Advance,
    context_texts,
    encode,
    ignore_progress,
    with_progress,
)
from cocite.retrieval.index.paper_indexes import count_papers
from cocite.retrieval.index.shard_counts import SharedVocabulary, anchor_counts
from cocite.retrieval.index.shard_ranges import ShardRange
from cocite.text.gaps import around_gap

SHARD_KIND = "index-shard"
"""The kind of a shard's folder in its manifest."""
SHARDS, WORDS = "shards", "words"
"""The folders of a version that hold the shards, and the vocabularies with the statistics of all of them."""
PAPERS, CONTEXTS = "papers", "contexts"


def shard_folder(version: Path, number: int) -> Path:
    """The folder of one shard of a version."""
    return version / SHARDS / f"{number:04d}"


def save_words(version: Path, words: Mapping[str, Mapping[str, Bm25Index]]) -> None:
    """Write the vocabularies of papers and contexts, and the statistics of their fields.

    Args:
        version: its folder.
        words: by group, the fields as indexes of no document.
    """
    for group, fields in words.items():
        save_group(fields, version / WORDS / group, without_lists=fields)


@dataclass
class ShardWriter:
    """Writes the shards of a collection into a version's folder.

    Attributes:
        collection: the papers, and what is known of them.
        ranges: the shards.
        folder: of the version.
        encoders: each makes its vectors.
        bm25: k1 and b of the papers' fields.
        vector_kind: how the vectors of a shard are searched.
        advance: receives the number of texts and vectors made since its last call.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.shard_ranges import divide
        >>> corpus = starter_corpus()
        >>> collection = Collection(corpus, History.all(corpus), np.ones(len(corpus), bool))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     described = ShardWriter(collection, divide(collection, 2), Path(folder)).write()
        >>> [shard["papers"] for shard in described["shards"]]
        [211, 212]
    """

    collection: Collection
    ranges: Sequence[ShardRange]
    folder: Path
    encoders: Sequence[Encoder] = ()
    bm25: Bm25Fields = field(default_factory=Bm25Fields)
    vector_kind: str = "auto"
    advance: Advance = ignore_progress

    def __post_init__(self) -> None:
        self._papers, self._contexts = SharedVocabulary(), SharedVocabulary()

    def write(self) -> dict[str, Any]:
        """Write all shards and the words; returns what the version's manifest says of them."""
        for number in range(len(self.ranges)):
            self._count(number)
        for number in range(len(self.ranges)):
            self._weigh(number)
        self._write_anchors()
        self._write_words()
        kinds: dict[str, str] = {}
        for number in range(len(self.ranges)):
            kinds |= self._write_vectors(number)
        return {"shards": [self._seal(number) for number in range(len(self.ranges))], "vectors": kinds}

    # -- counting --------------------------------------------------------------------------------------------

    def _count(self, number: int) -> None:
        """Count the words of one shard's texts, and save the counts."""
        part, papers = self.ranges[number], self._papers
        # The store is mapped anew: the pages of the shards before would stay in this process' resident memory.
        corpus = Corpus(self.collection.corpus.path, self.collection.corpus.manifest)
        text, title = count_papers(
            corpus, papers.tokenizer, papers.words, part.first, part.last, advance=self.advance
        )
        self._save_counts(number, PAPERS, papers, {"text": text, "title": title})
        del text, title
        known = self.collection.history.contexts[part.first_context : part.last_context]
        contexts = self._count_texts(with_progress(context_texts(corpus, known), self.advance))
        # Every word of a window stands in its context, so that none is new.
        windows = self._count_texts(context_texts(corpus, known, around_gap))
        self._save_counts(number, CONTEXTS, self._contexts, {"contexts": contexts, "windows": windows})

    def _count_texts(self, texts: Iterator[str]) -> sp.csr_matrix:
        numbers = self._contexts.tokenizer.learn(texts, self._contexts.words)
        return matrices.counted(*numbers, columns=len(self._contexts.words))

    def _save_counts(
        self, number: int, group: str, vocabulary: SharedVocabulary, counts: Mapping[str, sp.csr_matrix]
    ) -> None:
        vocabulary.add(counts)
        for name, of_field in counts.items():
            save_counts(of_field, shard_folder(self.folder, number) / group / name)

    # -- weighing --------------------------------------------------------------------------------------------

    def _weigh(self, number: int) -> None:
        """Write the inverted lists of one shard, weighed by the statistics of all."""
        for name, settings in (("text", self.bm25.text), ("title", self.bm25.title)):
            self._write_weights(number, PAPERS, name, settings)
        for name in ("contexts", "windows"):
            self._write_weights(number, CONTEXTS, name)

    def _write_weights(self, number: int, group: str, name: str, settings: Bm25Settings = USUAL) -> None:
        vocabulary = self._papers if group == PAPERS else self._contexts
        folder = shard_folder(self.folder, number) / group / name
        index = vocabulary.index(name, self._load_counts(number, group, name), settings)
        save_weights(index, folder, lists=name not in ("whole", "near"))

    def _load_counts(self, number: int, group: str, name: str) -> sp.csr_matrix:
        part = self.ranges[number]
        vocabulary = self._papers if group == PAPERS else self._contexts
        documents = part.contexts if name in ("contexts", "windows") else part.papers
        folder = shard_folder(self.folder, number) / group / name
        return load_counts(folder, (documents, len(vocabulary.words)))

    def _write_anchors(self) -> None:
        """Write what the contexts of all shards say of each shard's papers."""
        cited = [self._cited(part) for part in self.ranges]
        for source, name in (("contexts", "whole"), ("windows", "near")):
            documents = [self._load_counts(number, CONTEXTS, source) for number in range(len(self.ranges))]
            columns = len(self._contexts.words)
            for number, part in enumerate(self.ranges):
                counts = anchor_counts(documents, cited, part.first, part.last, columns)
                self._save_counts(number, CONTEXTS, self._contexts, {name: counts})
            for number in range(len(self.ranges)):
                self._write_weights(number, CONTEXTS, name)

    def _cited(self, part: ShardRange) -> CSR:
        return self.collection.cited_by_context.part(part.first_context, part.last_context)

    def _write_words(self) -> None:
        """Write the vocabularies, and the statistics that weigh the words that a paper shares with a query."""
        papers = {
            name: self._papers.without_documents(name, settings)
            for name, settings in (("text", self.bm25.text), ("title", self.bm25.title))
        }
        contexts = {"contexts": self._contexts.without_documents("contexts")}
        save_words(self.folder, {PAPERS: papers, CONTEXTS: contexts})

    # -- the rest --------------------------------------------------------------------------------------------

    def _write_vectors(self, number: int) -> dict[str, str]:
        """Encode the papers of one shard; returns the kind of each encoder's vectors."""
        part, kinds = self.ranges[number], {}
        for encoder in self.encoders:
            vectors = encode(
                self.collection.corpus, encoder, start=part.first, stop=part.last, advance=self.advance
            )
            index = VectorIndex.build(vectors, self.vector_kind)
            index.save(shard_folder(self.folder, number) / "vectors" / encoder.name)
            kinds[encoder.name] = index.kind
        return kinds

    def _seal(self, number: int) -> dict[str, Any]:
        """Complete a shard; returns what the manifest of the version says of it."""
        part, folder = self.ranges[number], shard_folder(self.folder, number)
        rows = slice(part.first, part.last)
        np.save(folder / "years.npy", self.collection.corpus.years[rows])
        np.save(folder / "alive.npy", self.collection.alive[rows])
        meta = {
            "papers": part.papers,
            "contexts": part.contexts,
            "encoder_ids": {encoder.name: encoder.id for encoder in self.encoders},
        }
        return {**meta, "digest": seal(folder, kind=SHARD_KIND, meta=meta).digest}

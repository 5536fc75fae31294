"""What every part of the build of an index in shards works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.part_files import PartFiles
from cocite.protocols import Encoder
from cocite.retrieval.engines.anchor_texts import cited_at
from cocite.retrieval.engines.bm25_fields import USUAL, Bm25Fields, Bm25Settings
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.documents import Advance, ignore_progress
from cocite.retrieval.index.shard_layout import CONTEXTS, PAPERS
from cocite.retrieval.index.shard_ranges import ShardRange
from cocite.text.tokens import SPLITTERS

ANCHORS = "anchors"
FIELDS = {PAPERS: ("text", "title"), CONTEXTS: ("contexts", "windows"), ANCHORS: ("whole", "near")}
"""The BM25 fields of each group of texts; those of contexts and anchor texts share a vocabulary."""


def _no_encoder(name: str) -> Encoder:
    raise ValueError(f"nothing loads the encoder {name!r}")


@dataclass(frozen=True)
class ShardInputs:
    """What is indexed, how, and where its parts lie.

    Attributes:
        collection: the papers, and what is known of them.
        ranges: the shards.
        files: what parts write, and later parts read.
        encoder_ids: the id of each encoder that makes vectors, by its name.
        load_encoder: gives the encoder of a name to those parts that encode.
        bm25: k1 and b of the papers' fields.
        vector_kind: how the vectors of a shard are searched.
        splitters: threads that split texts into words; 0: the one that numbers them.
        threads: of FAISS.
        advance: receives the number of texts and vectors made since its last call.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.part_files import LocalFiles
        >>> corpus = starter_corpus()
        >>> collection = Collection(corpus, History.all(corpus), np.ones(len(corpus), bool))
        >>> inputs = ShardInputs(collection, [ShardRange(0, 200, 0, 0)], LocalFiles(Path("parts")))
        >>> inputs.documents("papers", 0), inputs.settings("title").k1
        (200, 1.2)
    """

    collection: Collection
    ranges: Sequence[ShardRange]
    files: PartFiles
    encoder_ids: Mapping[str, str] = field(default_factory=dict)
    load_encoder: Callable[[str], Encoder] = _no_encoder
    bm25: Bm25Fields = field(default_factory=Bm25Fields)
    vector_kind: str = "auto"
    splitters: int = SPLITTERS
    threads: int = 1
    advance: Advance = ignore_progress

    def corpus(self) -> Corpus:
        """The store, mapped anew: the pages that other parts read would stay in this process' resident memory."""
        return Corpus(self.collection.corpus.path, self.collection.corpus.manifest)

    def contexts(self, corpus: Corpus, number: int) -> NDArray[np.int64]:
        """Positions in the corpus of the known contexts of one shard."""
        part, owners = self.ranges[number], corpus.context_citing
        first, last = np.searchsorted(owners, np.array([part.first, part.last], owners.dtype)).tolist()
        known = np.flatnonzero(self.collection.history.citing[owners[first:last]])
        return np.asarray(known + first, np.int64)

    def cited(self, number: int) -> CSR:
        """The papers that each known context of one shard cites."""
        corpus = self.corpus()
        return cited_at(corpus, self.contexts(corpus, number))

    def documents(self, group: str, number: int) -> int:
        """How many documents of a group one shard holds."""
        part = self.ranges[number]
        return part.contexts if group == CONTEXTS else part.papers

    def settings(self, field_name: str) -> Bm25Settings:
        """k1 and b of a field."""
        return {"text": self.bm25.text, "title": self.bm25.title}.get(field_name, USUAL)

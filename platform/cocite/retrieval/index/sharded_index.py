"""An index in several shards: a version whose words and vectors lie in parts that can be searched on their own.

| entry of a version | holds |
| --- | --- |
| ``corpus/``, ``names/``, ``history.npy``, ``alive.npy`` | as in a snapshot that is searched whole |
| ``words/papers/``, ``words/contexts/`` | the vocabularies, and the statistics of all papers and contexts |
| ``shards/0000/``, … | an artifact a shard: counts, inverted lists, anchor texts and vectors of its papers |

The shards hold what grows with every word; whoever coordinates a search maps the corpus store, of which a query reads
the links and the texts of a few hundred papers.
"""

from __future__ import annotations

from collections.abc import Collection as AbstractCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.manifests import Manifest, read_manifest
from cocite.protocols import Encoder, Query
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.engines.bm25_files import load_group
from cocite.retrieval.engines.query_words import QueryWords
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.documents import Advance, encode, ignore_progress
from cocite.retrieval.index.domain import are_unlike
from cocite.retrieval.index.index import check_encoder
from cocite.retrieval.index.reusable_vectors import earlier_vectors
from cocite.retrieval.index.rewound_shards import RewoundShards
from cocite.retrieval.index.shard_files import check_shards, open_shard
from cocite.retrieval.index.shard_layout import CONTEXTS, PAPERS, SHARDS, WORDS
from cocite.retrieval.index.shard_writer import write_shards
from cocite.retrieval.index.sharded_plan import ShardedPlan
from cocite.retrieval.index.stored_collection import open_collection, open_manifest
from cocite.retrieval.index.version_writer import (
    KIND,
    check_index_folder,
    new_version,
)
from cocite.retrieval.index.versions import KEEP, VersionedFolder, VersionLock
from cocite.retrieval.shards.group import LocalShards, ShardGroup
from cocite.retrieval.shards.shard import IndexShard


@dataclass(frozen=True)
class ShardedIndex(Collection):
    """An index whose words and vectors lie in shards; a :class:`~cocite.retrieval.index.search_index.SearchIndex`.

    Attributes:
        encoder_ids: the id of each encoder that made vectors, by its name.
        words: the vocabularies and statistics of ``text``, ``title`` and ``contexts``, as indexes of no document.
        shards: answer the two rounds of a search.
        version: name of the version.
        path: its folder.
        manifest: of the version.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> with tempfile.TemporaryDirectory() as root:
        ...     index = ShardedIndex.create(starter_corpus(), root, shards=3)
        ...     len(index), len(index.shards), [len(shard) for shard in index.shards.shards]
        (423, 3, [141, 141, 141])
    """

    encoder_ids: Mapping[str, str]
    words: Mapping[str, Bm25Index] = field(repr=False)
    shards: ShardGroup = field(repr=False)
    version: str = field(default="")
    path: Path = field(default=Path())
    manifest: Manifest = field(default_factory=lambda: Manifest(KIND, {}, {}), repr=False)
    _lock: VersionLock | None = field(default=None, repr=False, compare=False)

    # -- files -----------------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        root: str | Path,
        version: str | None = None,
        *,
        threads: int = 1,
        verified: bool = False,
        shards: ShardGroup | None = None,
    ) -> ShardedIndex:
        """Open a version; the first time on a machine, every file is compared with its SHA-256.

        Args:
            root: the index folder.
            version: its name; the current one by default.
            threads: how many threads FAISS may use.
            verified: whether the caller has compared the files with their SHA-256.
            shards: answer searches in place of shards opened in this process.

        Raises:
            NotFoundError: there is no such version, or no index.
            IntegrityError: a file is damaged; a shard is missing or of another version.
            InputError: the version is searched whole.
        """
        name, lock = VersionedFolder(root).lock(version)
        path = VersionedFolder(root).folder(name)
        described = read_manifest(path, kind=KIND).meta.get("shards")
        if described is None:
            raise InputError("the index is not divided into shards", where=str(path))
        if shards is None:
            check_shards(path, described)
        # Shards in other processes are verified there.
        elsewhere = None if shards is None else SHARDS
        manifest = open_manifest(path, verified=verified, without=elsewhere)
        words = load_group(path / WORDS / PAPERS, ("text", "title"))
        words |= load_group(path / WORDS / CONTEXTS, ("contexts",))
        return cls(
            **vars(open_collection(path)),
            encoder_ids=manifest.meta.get("encoder_ids", {}),
            words=words,
            shards=shards
            or LocalShards(
                [open_shard(path, described, number, threads=threads) for number in range(len(described))]
            ),
            version=name,
            path=path,
            manifest=manifest,
            _lock=lock,
        )

    @classmethod
    def create(
        cls,
        corpus: Corpus,
        root: str | Path,
        *,
        shards: int,
        keep: int = KEEP,
        advance: Advance = ignore_progress,
        **settings: Any,
    ) -> ShardedIndex:
        """Index a corpus in shards as a new, current version of an index folder, which is made if need be.

        Vectors that an encoder made of this corpus for an earlier version of the folder are taken from there.

        Args:
            corpus: the store; it is linked or copied into the version.
            root: the index folder.
            shards: how many.
            keep: how many versions stay.
            advance: receives the number of texts and vectors made since its last call.
            settings: further ones of :meth:`~cocite.retrieval.index.sharded_plan.ShardedPlan.of`.
        """
        check_index_folder(Path(root))
        plan = ShardedPlan.of(corpus, shards=shards, **settings)
        meta: dict[str, Any] = {}
        with new_version(Path(root), meta, keep) as folder:
            encoders = earlier_vectors(Path(root), corpus, plan.encoders)
            meta |= plan.fill(
                folder, partial(write_shards, replace(plan, encoders=encoders), advance=advance)
            )
        return cls.open(root, verified=True)

    def close(self) -> None:
        """Release the version: it may be deleted once a newer one is there."""
        if self._lock is not None:
            self._lock.release()

    # -- what a search asks ----------------------------------------------------------------------------------

    @property
    def bm25(self) -> Bm25Fields:
        """k1 and b of the papers' fields."""
        return Bm25Fields.of({name: self.words[name] for name in ("text", "title")})

    def paper_words(self, texts: Sequence[str]) -> QueryWords:
        """The words of some texts in the vocabulary of the papers' fields."""
        return self.words["text"].query_words(texts)

    def context_words(self, texts: Sequence[str]) -> QueryWords:
        """The words of some texts in the vocabulary of the contexts."""
        return self.words["contexts"].query_words(texts)

    def are_unlike(self, queries: Sequence[Query]) -> NDArray[np.bool_]:
        """(Q,) whether each query's text is unlike the papers of all shards; of none where no limits are known."""
        return are_unlike(self.domain, self.words["text"], self.words["contexts"], queries)

    def shared_terms(
        self, text: str, rows: Sequence[int], limit: int, ignore: AbstractCollection[str]
    ) -> list[list[tuple[str, float]]]:
        """For each paper, the words that it shares with a text and their weights, heaviest first.

        The papers' words are read from the corpus, so that no shard is asked.
        """
        words = self.words["text"]
        titles, abstracts = (self.corpus.papers.take(name, rows) for name in ("title", "abstract"))
        texts = [f"{title or ''} {abstract or ''}" for title, abstract in zip(titles, abstracts, strict=True)]
        numbers, indptr = words.tokenizer.lookup(texts, words.vocabulary)
        counts = matrices.counted(np.array(numbers), np.array(indptr), columns=len(words.vocabulary))
        papers = words.like(words.vocabulary, counts, words.idf)
        return papers.shared_terms(text, range(len(texts)), limit, ignore)

    def paper_vectors(self, name: str) -> ShardedVectors:
        """The vectors of an encoder's name."""
        return ShardedVectors(self.shards, name, len(self))

    def check_encoder(self, encoder: Encoder) -> None:
        """Refuse an encoder that did not make the vectors of its name.

        Raises:
            InputError: there are no such vectors, or another encoder made them.
        """
        check_encoder(encoder, self.encoder_ids, self.version)

    # -- other histories and vectors, in memory --------------------------------------------------------------

    def rewind(self, year: int) -> Self:
        """The index as it would be if nothing later than ``year`` had been cited."""
        return self.with_history(self.history.rewound(year))

    def with_history(self, history: History) -> Self:
        """The same papers under a history that is a part of the present one; the shards must be in this process.

        Raises:
            ValueError: it is not a part of the present one.
        """
        if (history.citing & ~self.history.citing).any():
            raise ValueError("the history holds papers that this index does not know the contexts of")
        kept = history.citing[self.context_papers]
        known, words = replace(self, history=history, known=None), self.words["contexts"]
        return replace(
            known, shards=RewoundShards(self.local_shards, words, known.cited_by_context, kept).group()
        )

    def with_vectors(
        self, encoder: Encoder, kind: str = "auto", *, advance: Advance = ignore_progress
    ) -> Self:
        """The same index with one more encoder's vectors, which replace those of another encoder of its name."""
        shards = []
        for shard in self.local_shards:
            new = encode(
                self.corpus,
                encoder,
                start=shard.first,
                stop=shard.first + len(shard),
                advance=advance,
            )
            vectors = {**shard.vectors, encoder.name: VectorIndex.build(new, kind)}
            shards.append(replace(shard, vectors=vectors))
        ids = {**self.encoder_ids, encoder.name: encoder.id}
        return replace(self, shards=LocalShards(shards), encoder_ids=ids)

    @property
    def local_shards(self) -> Sequence[IndexShard]:
        """The shards in this process.

        Raises:
            ValueError: they are elsewhere.
        """
        if not isinstance(self.shards, LocalShards):
            raise ValueError("the shards are in other processes; open the index without them")
        return self.shards.shards


@dataclass(frozen=True)
class ShardedVectors:
    """An encoder's vectors of all papers, read from the shards; a :class:`~cocite.protocols.PaperVectors`.

    Attributes:
        shards: that hold them.
        name: of the encoder.
        papers: N.

    Example:
        >>> len(ShardedVectors(LocalShards([]), "nnselect", 7))
        7
    """

    shards: ShardGroup
    name: str
    papers: int

    def __len__(self) -> int:
        return self.papers

    def __getitem__(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        return self.shards.paper_vectors(self.name, rows)

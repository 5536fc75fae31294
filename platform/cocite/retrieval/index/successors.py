"""What a version takes over from the one that it is made of, whether that is searched whole or in shards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.builder import build as build_store
from cocite.corpus.history import History, known_history
from cocite.corpus.records import Record
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.manifests import Manifest
from cocite.protocols import Encoder
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.domain import DOMAIN
from cocite.retrieval.index.name_tables import NameTables
from cocite.retrieval.index.stored_corpus import read_bodies

KNOWN = ("known_until", "before_split")
"""Keys of a manifest that say whose links and contexts are known; both null: all papers'."""


class OpenVersion(Protocol):
    """A version of an index that was opened from its folder.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> with tempfile.TemporaryDirectory() as root:
        ...     version: OpenVersion = IndexSnapshot.create(starter_corpus(), root, known_until=2010)
        ...     inherited_meta(version)["known_until"]
        2010
    """

    @property
    def corpus(self) -> Corpus:
        """The papers."""

    @property
    def history(self) -> History:
        """Whose links and contexts are known."""

    @property
    def alive(self) -> NDArray[np.bool_]:
        """(N,) False for removed papers."""

    @property
    def names(self) -> NameTables | None:
        """The papers of each author, surname and venue."""

    @property
    def encoder_ids(self) -> Mapping[str, str]:
        """The id of each encoder that made vectors, by its name."""

    @property
    def bm25(self) -> Bm25Fields:
        """k1 and b of the papers' fields."""

    @property
    def manifest(self) -> Manifest:
        """Of the version."""

    def check_encoder(self, encoder: Encoder) -> object:
        """Refuse an encoder that did not make the vectors of its name."""


def inherited_meta(index: OpenVersion) -> dict[str, Any]:
    """The part of the manifest's description that a version made of this one takes over."""
    return {
        **{key: index.manifest.meta.get(key) for key in KNOWN},
        "encoder_ids": dict(index.encoder_ids),
        "bm25": index.bm25.changed(),
        # As the statistics of words, the limits stay those of the last full build.
        DOMAIN: index.manifest.meta.get(DOMAIN),
    }


def encoders_by_name(index: OpenVersion, encoders: Sequence[Encoder], root: str | Path) -> dict[str, Encoder]:
    """The encoder that made each kind of vectors in an index.

    Raises:
        InputError: it is not among ``encoders``, or the index holds no vectors of any of them.
    """
    if encoders and not index.encoder_ids:
        index.check_encoder(encoders[0])
    by_name = {encoder.name: encoder for encoder in encoders}
    for name in index.encoder_ids:
        if name not in by_name:
            raise InputError(
                f"the index holds vectors of {name}, so new papers need the model that made them",
                where=str(root),
                hint="pass --model",
            )
        index.check_encoder(by_name[name])
    return {name: by_name[name] for name in index.encoder_ids}


def grown_collection(
    old: OpenVersion,
    records: Iterable[Record],
    folder: Path,
    encoders: Iterable[Encoder],
    rejects: str | Path | None,
) -> Collection:
    """The papers of an index with new ones behind them.

    Args:
        old: the index.
        records: new papers with their links and contexts.
        folder: of the new version, into which the store is written.
        encoders: of the index; where none reads body sentences, these are left out.
        rejects: file for records that break a rule.
    """
    bodies = read_bodies(encoders)
    corpus = build_store(records, folder / "corpus", base=old.corpus, bodies=bodies, rejects=rejects)
    known = known_history(corpus, **{key: old.manifest.meta.get(key) for key in KNOWN})
    # What is known of the old papers stays: the new ones may change where a split's years begin.
    before = len(old.corpus)
    citing = np.concatenate([old.history.citing, known.citing[before:]])
    alive = np.concatenate([old.alive, np.ones(len(corpus) - before, bool)])
    return Collection(corpus, History(corpus, citing), alive, names=NameTables(corpus, old.names))


def find_papers(corpus: Corpus, ids: Sequence[str], root: str | Path) -> NDArray[np.int32]:
    """The rows of some papers.

    Raises:
        NotFoundError: one is not in the index; the message names the first.
    """
    rows = corpus.find(ids)
    unknown = [id_ for id_, row in zip(ids, rows, strict=True) if row < 0]
    if unknown:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise NotFoundError(f"no paper has the id {unknown[0]!r}{more}", where=str(root))
    return rows

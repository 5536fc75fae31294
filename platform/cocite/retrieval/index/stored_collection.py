"""Reading what every version of an index holds, whether it is searched whole or in shards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import check_sizes, load_array
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError
from cocite.manifests import Manifest, read_manifest
from cocite.retrieval.engines.domain_limits import DomainLimits
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.domain import DOMAIN
from cocite.retrieval.index.known_contexts import FOLDER, KnownContexts
from cocite.retrieval.index.name_tables import NameTables
from cocite.retrieval.index.version_writer import KIND, NAMES
from cocite.verification import open_verified_once


def open_manifest(path: Path, *, verified: bool, without: str | None = None) -> Manifest:
    """The manifest of a version; the first time on a machine, every file is compared with its SHA-256.

    Args:
        path: the version's folder.
        verified: whether the caller has compared the files; then their sizes alone are looked at.
        without: a folder of the version that is compared elsewhere.

    Raises:
        IntegrityError: a file is damaged.
    """
    if not verified:
        return open_verified_once(path, kind=KIND, without=without)
    manifest = read_manifest(path, kind=KIND)
    check_sizes(path, manifest)
    return manifest


def open_collection(path: Path) -> Collection:
    """The papers of a version, and whose links and contexts are known; arrays are memory-mapped.

    Args:
        path: the version's folder, whose files have been verified.

    Raises:
        IntegrityError: the files do not fit together.
        ConfigError: the manifest's limits of texts are none.
    """
    corpus = Corpus.open(path / "corpus", verified=True)  # a part of the artifact
    domain = read_manifest(path, kind=KIND).meta.get(DOMAIN)
    return Collection(
        corpus,
        History(corpus, _load_marks(path / "history.npy", len(corpus))),
        _load_marks(path / "alive.npy", len(corpus)),
        names=NameTables.open(path / NAMES, corpus),
        known=KnownContexts.open(path / FOLDER),
        domain=None if domain is None else DomainLimits.parse(domain, where=str(path)),
    )


def _load_marks(path: Path, count: int) -> NDArray[np.bool_]:
    """(N,) the marks of papers in a file."""
    marks = load_array(path, mapped=False)
    if marks.shape != (count,) or marks.dtype != bool:
        raise IntegrityError(f"{marks.dtype} {marks.shape} where {count} marks belong", where=str(path))
    return np.asarray(marks, bool)

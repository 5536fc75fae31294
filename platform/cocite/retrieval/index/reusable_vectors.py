"""Vectors that an index folder holds already, so that a new version need not make them again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import sha256
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError
from cocite.manifests import Manifest, read_manifest
from cocite.protocols import Encoder, Query
from cocite.retrieval.engines.vectors import choose_kind, load_raw
from cocite.retrieval.index.shard_files import check_shard
from cocite.retrieval.index.versions import VersionedFolder


@dataclass(frozen=True)
class EarlierVectors:
    """The vectors of all papers in an earlier version; they take their encoder's place while an index is built.

    Attributes:
        name, id: of the encoder.
        parts: (n, d) vectors of consecutive papers: one part, or one for each shard of the earlier version.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> parts = [np.zeros((400, 2), np.float32), np.ones((23, 2), np.float32)]
        >>> EarlierVectors("nnselect", "34cd", parts).encode_papers(starter_corpus(), np.array([399, 400]))
        array([[0., 0.],
               [1., 1.]], dtype=float32)
    """

    name: str
    id: str
    parts: Sequence[NDArray[np.float32]]

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.parts[0].shape[1])

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:  # noqa: ARG002
        """(n, d) the vectors of some papers."""
        result = np.empty((len(rows), self.dimension), np.float32)
        ends = np.cumsum([len(part) for part in self.parts])
        numbers = np.searchsorted(ends, rows, side="right")
        for number in np.unique(numbers).tolist():
            here, part = numbers == number, self.parts[number]
            result[here] = part[rows[here] - (ends[number] - len(part))]
        return result

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """Refused: the vectors are of papers alone.

        Raises:
            InputError: always.
        """
        raise InputError(f"vectors of an earlier version encode no query ({len(queries)} asked)")


def earlier_vectors(root: Path, corpus: Corpus, encoders: Sequence[Encoder]) -> list[Encoder]:
    """The encoders, of which those are replaced whose vectors of this very corpus an earlier version holds undamaged.

    Only the writer of an index may call this: for all others the version could be deleted at any time.

    Args:
        root: the index folder.
        corpus: the papers.
        encoders: of the version that is to be built.
    """
    return [_earlier(root, corpus, encoder) or encoder for encoder in encoders]


def _earlier(root: Path, corpus: Corpus, encoder: Encoder) -> EarlierVectors | None:
    for folder, manifest in _versions_with(root, corpus, encoder):
        inside = Path("vectors", encoder.name)
        described = manifest.meta.get("shards")
        try:
            shards = (
                [folder]
                if described is None
                else [check_shard(folder, described, number) for number in range(len(described))]
            )
            manifests = [manifest] if described is None else [read_manifest(shard) for shard in shards]
            if all(_is_undamaged(shard, of, inside) for shard, of in zip(shards, manifests, strict=True)):
                return EarlierVectors(
                    encoder.name, encoder.id, [load_raw(shard / inside) for shard in shards]
                )
        except CociteError:
            continue
    return None


def reusable_vectors(root: Path, corpus: Corpus, encoder: Encoder, kind: str) -> Path | None:
    """The folder of undamaged vectors that this encoder made of this very corpus, in the latest version that has them.

    Such a folder becomes part of a new version as it is; :func:`earlier_vectors` is for versions that are divided, or
    searched, in another way.

    Only the writer of an index may call this: for all others the version could be deleted at any time.

    Args:
        root: the index folder.
        corpus: the papers.
        encoder: of the vectors.
        kind: how they are to be searched, ``auto`` or one of :data:`cocite.retrieval.engines.vectors.KINDS`.

    Returns:
        None where no version that is searched whole holds such vectors.
    """
    kind = choose_kind(len(corpus)) if kind == "auto" else kind
    inside = Path("vectors", encoder.name)
    for folder, manifest in _versions_with(root, corpus, encoder):
        whole = manifest.meta.get("shards") is None and manifest.meta["vectors"].get(encoder.name) == kind
        if whole and _is_undamaged(folder, manifest, inside):
            return folder / inside
    return None


def _versions_with(root: Path, corpus: Corpus, encoder: Encoder) -> Iterator[tuple[Path, Manifest]]:
    """The versions that hold the encoder's vectors of the corpus, the latest first."""
    versions = VersionedFolder(root)
    for version in reversed(versions.names()):
        folder = versions.folder(version)
        try:
            manifest = read_manifest(folder)
        except CociteError:
            continue
        made_by = manifest.meta.get("encoder_ids", {}).get(encoder.name)
        if manifest.meta.get("corpus") == corpus.version and made_by == encoder.id:
            yield folder, manifest


def _is_undamaged(folder: Path, manifest: Manifest, inside: Path) -> bool:
    files = {
        name: entry for name, entry in manifest.files.items() if name.startswith(f"{inside.as_posix()}/")
    }
    return bool(files) and all(
        (folder / name).is_file() and sha256(folder / name) == entry["sha256"]
        for name, entry in files.items()
    )

"""Vectors that an index folder holds already, so that a new version need not make them again."""

from __future__ import annotations

from pathlib import Path

from cocite.artifacts import sha256
from cocite.corpus.store import Corpus
from cocite.errors import CociteError
from cocite.manifests import read_manifest
from cocite.protocols import Encoder
from cocite.retrieval.engines.vectors import choose_kind
from cocite.retrieval.index.versions import VersionedFolder


def reusable_vectors(root: Path, corpus: Corpus, encoder: Encoder, kind: str) -> Path | None:
    """The folder of undamaged vectors that this encoder made of this very corpus, in the latest version that has them.

    Only the writer of an index may call this: for all others the version could be deleted at any time.

    Args:
        root: the index folder.
        corpus: the papers.
        encoder: of the vectors.
        kind: how they are to be searched, ``auto`` or one of :data:`cocite.retrieval.engines.vectors.KINDS`.

    Returns:
        None where no version holds such vectors.
    """
    kind = choose_kind(len(corpus)) if kind == "auto" else kind
    versions = VersionedFolder(root)
    for version in reversed(versions.names()):
        folder = versions.folder(version)
        try:
            manifest = read_manifest(folder)
        except CociteError:
            continue
        meta, inside = manifest.meta, f"vectors/{encoder.name}/"
        same = (
            meta.get("corpus") == corpus.version
            and meta.get("encoder_ids", {}).get(encoder.name) == encoder.id
            and meta["vectors"].get(encoder.name) == kind
        )
        files = {name: entry for name, entry in manifest.files.items() if name.startswith(inside)}
        if same and all(_is_undamaged(folder / name, entry["sha256"]) for name, entry in files.items()):
            return folder / inside
    return None


def _is_undamaged(path: Path, digest: str) -> bool:
    return path.is_file() and sha256(path) == digest

"""The corpus store in an index version: whole, or without the body sentences, which most indexes never read.

Only an encoder that reads bodies (:class:`~cocite.protocols.BodyReader`) needs them at serving. In the ACL corpus they
are nine tenths of the store.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cocite.atomic_files import write_atomic
from cocite.corpus.store import BODY_FILES, WHOLE, Corpus
from cocite.hard_links import link_file, link_folder
from cocite.manifests import MANIFEST, Manifest, manifest_text
from cocite.protocols import BodyReader, Encoder


def read_bodies(encoders: Iterable[Encoder]) -> bool:
    """Whether one of the encoders reads body sentences of a corpus."""
    return any(isinstance(encoder, BodyReader) for encoder in encoders)


def link_corpus(corpus: Corpus, destination: Path, *, bodies: bool) -> None:
    """The same store at another path: hard links where the file system can, copies where it cannot.

    Args:
        corpus: the store.
        destination: the folder to make.
        bodies: with the body sentences; without, the manifest names the other files and the version of the whole store.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     link_corpus(corpus, Path(folder, "corpus"), bodies=False)
        ...     linked = Corpus.open(Path(folder, "corpus"))
        ...     len(linked), linked.has_bodies, linked.version == corpus.version
        (423, False, True)
    """
    if bodies or not corpus.has_bodies:
        link_folder(corpus.path, destination)
        return
    for name in bodiless_files(corpus.manifest):
        (destination / name).parent.mkdir(parents=True, exist_ok=True)
        link_file(corpus.path / name, destination / name)
    write_atomic(destination / MANIFEST, bodiless_text(corpus.manifest))


def bodiless_files(manifest: Manifest) -> dict[str, dict[str, Any]]:
    """The entries of a store's files but those of the body sentences."""
    return {name: entry for name, entry in manifest.files.items() if name not in BODY_FILES}


def bodiless_text(manifest: Manifest) -> str:
    """The text of the manifest of a store without body sentences, made from that of the whole one."""
    meta = {**manifest.meta, WHOLE: manifest.meta.get(WHOLE, manifest.digest)}
    return manifest_text(manifest.kind, meta, bodiless_files(manifest))

"""Index snapshots: an :class:`~cocite.retrieval.index.index.Index` on disk, in versions.

A version is an artifact that never changes:

| entry | holds |
| --- | --- |
| ``corpus/`` | the corpus store |
| ``bm25-text/``, ``bm25-title/``, ``bm25-abstract/`` | BM25 over the papers' fields |
| ``contexts-bm25/`` | BM25 over the known citation contexts |
| ``anchors/windows/``, ``whole/``, ``near/`` | BM25 over the words next to their gaps, and over both by cited paper |
| ``vectors/<name>/`` | the papers' vectors by each encoder that was given |
| ``history.npy``, ``alive.npy`` | (N,) whose links and contexts are known; which papers have not been removed |

Adding or removing papers makes a new version beside the old one and then names it current, so that a query
sees the old one or the new one, whole. Files that stay the same are hard links.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import check_sizes, load_array, publish
from cocite.corpus.builder import build as build_store
from cocite.corpus.history import History, known_history
from cocite.corpus.records import Record
from cocite.corpus.store import Corpus
from cocite.destinations import check_folder_destination
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.manifests import Manifest, read_manifest
from cocite.protocols import Encoder
from cocite.retrieval.engines.anchor_texts import AnchorTexts, ballots_of
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.engines.vectors import VectorIndex, check_kind
from cocite.retrieval.index.index import (
    FIELDS,
    Advance,
    Index,
    context_texts,
    encode,
    index_field,
    paper_texts,
    told,
)
from cocite.retrieval.index.reusable_vectors import known_vectors
from cocite.retrieval.index.versions import KEEP, Pin, Versions
from cocite.text.gaps import around_gap
from cocite.verification import open_verified_once, verify_now

KIND = "index"
KNOWN = ("known_until", "before_split")
"""What a manifest says of whose links and contexts are known; both null: all papers'."""


@dataclass(frozen=True)
class IndexSnapshot(Index):
    """An index opened from its folder: all arrays are memory-mapped, and the version stays while this object lives.

    Attributes:
        path: the version's folder.
        manifest: what it says of itself.
    """

    path: Path = field(default=Path())
    manifest: Manifest = field(default_factory=lambda: Manifest(KIND, {}, {}), repr=False)
    _pin: Pin | None = field(default=None, repr=False, compare=False)

    @classmethod
    def open(
        cls, root: str | Path, version: str | None = None, *, threads: int = 1, verified: bool = False
    ) -> IndexSnapshot:
        """Open a version of an index, the current one by default; the first time on a machine all of it is checked.

        Args:
            root: the index folder.
            version: its name.
            threads: how many threads FAISS may use.
            verified: whether the caller has compared the files with their SHA-256; then it is not done here.
        """
        name, pin = Versions(root).pin(version)
        path = Versions(root).folder(name)
        manifest = read_manifest(path, kind=KIND) if verified else open_verified_once(path, kind=KIND)
        if verified:
            check_sizes(path, manifest)
        if not (path / "anchors").is_dir():
            raise InputError(
                "the index holds no anchor texts: an earlier version of cocite made it",
                where=str(path),
                hint="build it again with cocite index build",
            )
        if (path / "vectors" / "vectors.npy").exists():
            raise InputError(
                "the vectors in the index do not say which kind of encoder made them: "
                "an earlier version of cocite did",
                where=str(path),
                hint="build it again with cocite index build",
            )
        corpus = Corpus.open(path / "corpus", verified=True)  # a part of the artifact
        citing, alive = _mask(path / "history.npy", len(corpus)), _mask(path / "alive.npy", len(corpus))
        papers = {name: Bm25Index.load(path / f"bm25-{name}") for name in FIELDS}
        encoder_ids = manifest.meta.get("encoder_ids", {})
        vectors = {name: VectorIndex.load(path / "vectors" / name, threads=threads) for name in encoder_ids}
        return cls(
            corpus=corpus,
            history=History(corpus, citing),
            alive=alive,
            papers=papers,
            contexts=Bm25Index.load(path / "contexts-bm25"),
            anchors=AnchorTexts.load(path / "anchors"),
            vectors=vectors,
            encoder_ids=encoder_ids,
            version=name,
            path=path,
            manifest=manifest,
            _pin=pin,
        )

    @classmethod
    def create(
        cls,
        corpus: Corpus,
        root: str | Path,
        *,
        known_until: int | None = None,
        before_split: str | None = None,
        encoders: Sequence[Encoder] = (),
        bm25: Bm25Fields | None = None,
        vector_kind: str = "auto",
        keep: int = KEEP,
        advance: Advance | None = None,
    ) -> IndexSnapshot:
        """Index a corpus as a new, current version of an index folder, which is made if need be.

        Vectors that another version holds of the same corpus and encoder are not made again.

        Args:
            corpus: the store; it is linked or copied into the version.
            root: the index folder.
            known_until: papers of a later year do not vote, nor do papers of an unknown one; None for all to vote.
            before_split: only papers vote that may be known when this split is judged
                (:func:`~cocite.corpus.history.history_before`); not together with ``known_until``.
            encoders: each makes its vectors; without one there are none.
            bm25: k1 and b of the papers' fields; the usual ones by default, whatever an earlier version had.
            vector_kind: ``auto`` or one of :data:`cocite.retrieval.engines.vectors.KINDS`.
            keep: how many versions stay.
            advance: told of every text and vector done.
        """
        _refuse_foreign(Path(root))
        check_kind(vector_kind)
        step = advance or (lambda _: None)
        limits: dict[str, Any] = {"known_until": known_until, "before_split": before_split}
        citing = known_history(corpus, **limits).citing
        ids = {encoder.name: encoder.id for encoder in encoders}
        changed = (bm25 or Bm25Fields()).changed()
        meta: dict[str, Any] = {**limits, "encoder_ids": ids, "bm25": changed}
        with _new_version(Path(root), meta, keep) as folder:
            _link(corpus.path, folder / "corpus")
            # One at a time, saved and let go: the largest of them bounds the memory.
            for name in FIELDS:
                index_field(corpus, name, bm25, step).save(folder / f"bm25-{name}")
            history = History(corpus, citing)
            contexts = Bm25Index.build(told(context_texts(corpus, history.contexts), step))
            contexts.save(folder / "contexts-bm25")
            windows = Bm25Index.build(context_texts(corpus, history.contexts, around_gap))
            AnchorTexts.of(contexts, windows, ballots_of(history), len(corpus)).save(folder / "anchors")
            del contexts, windows
            for encoder in encoders:
                known = known_vectors(Path(root), corpus, encoder, vector_kind)
                if known is not None:
                    _link(known, folder / "vectors" / encoder.name)
                    step(len(corpus))
                    continue
                vectors = VectorIndex.build(encode(corpus, encoder, advance=step), vector_kind)
                vectors.save(folder / "vectors" / encoder.name)
            _save_masks(folder, citing, np.ones(len(corpus), bool))
            _describe(folder, meta, corpus, history.contexts)
        return cls.open(root, verified=True)

    @classmethod
    def add(
        cls,
        root: str | Path,
        records: Iterable[Record],
        *,
        encoders: Sequence[Encoder] = (),
        rejects: str | Path | None = None,
        keep: int = KEEP,
        advance: Advance | None = None,
    ) -> IndexSnapshot:
        """A new version with more papers, links and contexts; old ones are not split into words or encoded again.

        BM25 statistics stay those of the last full build (:meth:`cocite.retrieval.engines.bm25.Bm25Index.append`). The
        id of a removed paper stays taken.

        Args:
            root: the index folder.
            records: new papers with their links and contexts, as importers yield them.
            encoders: those that made the present vectors; others are left alone.
            rejects: file for records that break a rule.
            keep: how many versions stay.
            advance: told of every text and vector done.
        """
        step = advance or (lambda _: None)
        Versions(root).current()
        meta: dict[str, Any] = {}
        # Opened inside the lock: no other writer may come between what is read and what is written.
        with _new_version(Path(root), meta, keep) as folder:
            old = cls.open(root)
            makers = _makers(old, encoders, root)
            meta |= old.kept_meta
            start = len(old.corpus)
            corpus = build_store(records, folder / "corpus", base=old.corpus, rejects=rejects)
            for name in FIELDS:
                grown = old.papers[name].append(told(paper_texts(corpus, name, start), step))
                grown.save(folder / f"bm25-{name}")
            alive = np.concatenate([old.alive, np.ones(len(corpus) - start, bool)])
            known = known_history(corpus, **{key: meta[key] for key in KNOWN})
            # What is known of the old papers stays: the new ones may change where a split's years begin.
            citing = np.concatenate([old.history.citing, known.citing[start:]])
            history = History(corpus, citing)
            # Contexts are in order of their paper and old papers get no new ones: the new stand behind the old.
            late = history.contexts[len(old.contexts) :]
            contexts = old.contexts.append(told(context_texts(corpus, late), step))
            contexts.save(folder / "contexts-bm25")
            windows = old.anchors.windows.append(context_texts(corpus, late, around_gap))
            anchors = AnchorTexts.of(contexts, windows, ballots_of(history), len(corpus), like=old.anchors)
            anchors.save(folder / "anchors")
            for name, encoder in makers.items():
                new = old.vectors[name].append(encode(corpus, encoder, start=start, advance=step))
                new.save(folder / "vectors" / name)
            _save_masks(folder, citing, alive)
            _describe(folder, meta, corpus, history.contexts)
            old.close()
        return cls.open(root, verified=True)

    @classmethod
    def remove(cls, root: str | Path, ids: Sequence[str], *, keep: int = KEEP) -> IndexSnapshot:
        """A new version in which some papers are never found, do not vote and are no evidence.

        Their rows stay (a tombstone), so that nothing else changes its row; a full build leaves them out for good.
        """
        Versions(root).current()
        meta: dict[str, Any] = {}
        with _new_version(Path(root), meta, keep) as folder:
            old = cls.open(root)
            rows = old.corpus.find(ids)
            unknown = [id_ for id_, row in zip(ids, rows, strict=True) if row < 0]
            if unknown:
                more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
                raise NotFoundError(f"no paper has the id {unknown[0]!r}{more}", where=str(root))
            meta |= old.kept_meta
            for entry in ("corpus", "vectors", *(f"bm25-{name}" for name in FIELDS)):
                if (old.path / entry).is_dir():
                    _link(old.path / entry, folder / entry)
            alive, citing = np.array(old.alive), np.array(old.history.citing)
            alive[rows] = citing[rows] = False
            shorter = old.with_history(History(old.corpus, citing))
            shorter.contexts.save(folder / "contexts-bm25")
            shorter.anchors.save(folder / "anchors")
            _save_masks(folder, citing, alive)
            _describe(folder, meta, old.corpus, shorter.history.contexts)
            old.close()
        return cls.open(root, verified=True)

    @property
    def kept_meta(self) -> dict[str, Any]:
        """What a version that is made of this one says of itself like this one."""
        return {
            **{key: self.manifest.meta.get(key) for key in KNOWN},
            "encoder_ids": self.encoder_ids,
            "bm25": self.bm25.changed(),
        }

    def close(self) -> None:
        """Let the version go: it may be deleted once a newer one is there."""
        if self._pin is not None:
            self._pin.release()


def verify_index(root: str | Path, version: str | None = None) -> Manifest:
    """Check every file of a version, the current one by default; a damaged one is named."""
    name, pin = Versions(root).pin(version)
    try:
        return verify_now(Versions(root).folder(name), kind=KIND)
    finally:
        pin.release()


def list_versions(root: str | Path) -> list[dict[str, Any]]:
    """What each version says of itself, oldest first: ``version``, ``current``, ``bytes`` and its description."""
    versions = Versions(root)
    current = versions.current()
    result = []
    for name in versions.names():
        manifest = read_manifest(versions.folder(name), kind=KIND)
        size = sum(entry["bytes"] for entry in manifest.files.values())
        result.append({"version": name, "current": name == current, "bytes": size, **manifest.meta})
    return result


def current_meta(root: str | Path) -> dict[str, Any]:
    """What the current version says of itself, without opening it."""
    versions = Versions(root)
    return dict(read_manifest(versions.folder(versions.current()), kind=KIND).meta)


@contextmanager
def _new_version(root: Path, meta: dict[str, Any], keep: int) -> Iterator[Path]:
    """A folder to fill; when the body ends it is sealed, becomes the current version, and old ones are deleted."""
    versions = Versions(root)
    with versions.writing() as name:
        with publish(versions.folder(name), kind=KIND, meta=meta) as folder:
            yield folder
        versions.publish(name)
        versions.collect(keep)


def _makers(index: Index, encoders: Sequence[Encoder], root: str | Path) -> dict[str, Encoder]:
    """For each kind of vectors the encoder that made them; raises when one is missing or none is wanted."""
    if encoders and not index.vectors:
        index.check_encoder(encoders[0])
    given = {encoder.name: encoder for encoder in encoders}
    for name in index.vectors:
        if name not in given:
            raise InputError(
                f"the index holds vectors of {name}, so new papers need the model that made them",
                where=str(root),
                hint="pass --model",
            )
        index.check_encoder(given[name])
    return {name: given[name] for name in index.vectors}


def _describe(folder: Path, meta: dict[str, Any], corpus: Corpus, positions: NDArray[np.int64]) -> None:
    alive = load_array(folder / "alive.npy")
    kinds = {name: VectorIndex.load(folder / "vectors" / name).kind for name in meta["encoder_ids"]}
    meta |= {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "corpus": corpus.version,
        "papers": len(corpus),
        "alive": int(alive.sum()),
        "contexts": len(positions),
        "vectors": kinds,
    }


def _save_masks(folder: Path, citing: NDArray[np.bool_], alive: NDArray[np.bool_]) -> None:
    np.save(folder / "history.npy", citing)
    np.save(folder / "alive.npy", alive)


def _mask(path: Path, count: int) -> NDArray[np.bool_]:
    mask = load_array(path, mapped=False)
    if mask.shape != (count,) or mask.dtype != bool:
        raise IntegrityError(f"{mask.dtype} {mask.shape} where {count} marks belong", where=str(path))
    return np.asarray(mask, bool)


def _refuse_foreign(root: Path) -> None:
    check_folder_destination(root)
    if root.exists() and not (root / "CURRENT").exists():
        entries = {path.name for path in root.iterdir()} if root.is_dir() else {""}
        if entries - {"versions", "locks"}:
            raise InputError(
                "holds something that is not an index", where=str(root), hint="choose another folder"
            )


def _link(source: Path, destination: Path) -> None:
    """The same folder at another place: hard links where the file system can, copies where it cannot."""

    def link(a: str, b: str) -> None:
        try:
            os.link(a, b)
        except OSError:
            shutil.copy2(a, b)

    shutil.copytree(source, destination, copy_function=link)

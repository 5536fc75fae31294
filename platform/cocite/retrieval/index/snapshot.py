"""Index snapshots: an :class:`~cocite.retrieval.index.index.Index` on disk, in versions.

A version is an artifact that never changes:

| entry | holds |
| --- | --- |
| ``corpus/`` | the corpus store, with the body sentences only where an encoder of the index reads them |
| ``papers/text/``, ``title/`` | BM25 over the papers' fields; what the abstracts hold is their difference |
| ``contexts/contexts/`` | BM25 over the known citation contexts |
| ``contexts/windows/``, ``whole/``, ``near/`` | BM25 over the words next to their gaps, and over both by cited paper |
| ``names/`` | the papers of each author, surname and venue; made at opening for a version that lacks them |
| ``vectors/<name>/`` | the papers' vectors by each encoder that was given |
| ``known/`` | of each known context, its paper and what it cites; made at opening for a version that lacks it |
| ``history.npy``, ``alive.npy`` | (N,) whose links and contexts are known; which papers have not been removed |

Adding or removing papers makes a new version beside the old one and then names it current, so that a query
sees the old one or the new one, whole. Files that stay the same are hard links. Every version is a
:class:`~cocite.retrieval.index.plan.BuildPlan`, executed by :mod:`cocite.retrieval.index.version_writer`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cocite.corpus.history import known_history
from cocite.corpus.records import Record
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.hard_links import link_folder
from cocite.manifests import Manifest, read_manifest
from cocite.protocols import Encoder
from cocite.retrieval.engines.anchor_texts import AnchorTexts
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.engines.bm25_files import load_group
from cocite.retrieval.engines.vectors import VectorIndex, check_kind
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.documents import Advance, ignore_progress
from cocite.retrieval.index.domain import DOMAIN, fit_saved
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.paper_indexes import PaperIndexes
from cocite.retrieval.index.plan import BuildPlan
from cocite.retrieval.index.reusable_vectors import earlier_vectors, reusable_vectors
from cocite.retrieval.index.shard_files import check_shards
from cocite.retrieval.index.stored_collection import open_collection, open_manifest
from cocite.retrieval.index.stored_corpus import link_corpus, read_bodies
from cocite.retrieval.index.successors import encoders_by_name, find_papers, grown_collection, inherited_meta
from cocite.retrieval.index.version_writer import (
    CONTEXTS,
    KIND,
    PAPERS,
    check_index_folder,
    new_version,
    write_parts,
)
from cocite.retrieval.index.versions import KEEP, VersionedFolder, VersionLock
from cocite.verification import verify_now


@dataclass(frozen=True)
class IndexSnapshot(Index):
    """An index opened from its folder: all arrays are memory-mapped, and the version stays while this object lives.

    Attributes:
        path: the version's folder.
        manifest: of the version.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.records import PaperRecord
        >>> from cocite.corpus.starter import starter_corpus
        >>> with tempfile.TemporaryDirectory() as root:
        ...     first = IndexSnapshot.create(starter_corpus(), root, known_until=2010)
        ...     second = IndexSnapshot.add(root, [PaperRecord("new", "A new paper", year=2024)])
        ...     [(snapshot.version, len(snapshot)) for snapshot in (first, second)]
        [('000001', 423), ('000002', 424)]
    """

    path: Path = field(default=Path())
    manifest: Manifest = field(default_factory=lambda: Manifest(KIND, {}, {}), repr=False)
    _lock: VersionLock | None = field(default=None, repr=False, compare=False)

    @classmethod
    def open(
        cls, root: str | Path, version: str | None = None, *, threads: int = 1, verified: bool = False
    ) -> IndexSnapshot:
        """Open a version of an index; the first time on a machine, every file is compared with its SHA-256.

        Args:
            root: the index folder.
            version: its name; the current one by default.
            threads: how many threads FAISS may use.
            verified: whether the caller has compared the files with their SHA-256; then it is not done here.

        Raises:
            NotFoundError: there is no such version, or no index.
            IntegrityError: a file is damaged.
            InputError: an earlier cocite wrote the index in a form that this one cannot read.
        """
        name, lock = VersionedFolder(root).lock(version)
        path = VersionedFolder(root).folder(name)
        manifest = open_manifest(path, verified=verified)
        if shards := manifest.meta.get("shards"):
            raise InputError(
                f"the index is divided into {len(shards)} shards, and this needs one that is searched whole",
                where=str(path),
                hint="build it with --shards 1",
            )
        if not ((path / PAPERS).is_dir() and (path / CONTEXTS).is_dir()):
            raise InputError(
                "the index has another layout: an earlier version of cocite made it",
                where=str(path),
                hint="build it again with cocite index build",
            )
        groups = load_group(path / CONTEXTS, ("contexts", "windows", "whole", "near"))
        encoder_ids = manifest.meta.get("encoder_ids", {})
        vectors = {name: VectorIndex.load(path / "vectors" / name, threads=threads) for name in encoder_ids}
        return cls(
            **vars(open_collection(path)),
            papers=PaperIndexes.load(path / PAPERS),
            contexts=groups.pop("contexts"),
            anchors=AnchorTexts(**groups),
            vectors=vectors,
            encoder_ids=encoder_ids,
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
        known_until: int | None = None,
        before_split: str | None = None,
        encoders: Sequence[Encoder] = (),
        bm25: Bm25Fields | None = None,
        vector_kind: str = "auto",
        keep: int = KEEP,
        advance: Advance = ignore_progress,
    ) -> IndexSnapshot:
        """Index a corpus as a new, current version of an index folder, which is made if need be.

        Vectors that another version holds of the same corpus and encoder are not made again.

        Args:
            corpus: the store; it is linked or copied into the version, without the body sentences where no encoder
                reads them.
            root: the index folder.
            known_until: papers of a later year do not vote, nor do papers of an unknown one; None for all to vote.
            before_split: only papers vote that may be known when this split is judged
                (:func:`~cocite.corpus.history.history_before`); not together with ``known_until``.
            encoders: each makes its vectors; without one there are none.
            bm25: k1 and b of the papers' fields; the usual ones by default, whatever an earlier version had.
            vector_kind: ``auto`` or one of :data:`cocite.retrieval.engines.vectors.KINDS`.
            keep: how many versions stay.
            advance: receives the number of texts and vectors done since its last call.

        Raises:
            InputError: an encoder reads body sentences, and the store is one that an index left them out of.
        """
        check_index_folder(Path(root))
        check_kind(vector_kind)
        bodies = read_bodies(encoders)
        if bodies:
            corpus.require_bodies()
        limits: dict[str, Any] = {"known_until": known_until, "before_split": before_split}
        history = known_history(corpus, **limits)
        ids = {encoder.name: encoder.id for encoder in encoders}
        meta: dict[str, Any] = {**limits, "encoder_ids": ids, "bm25": (bm25 or Bm25Fields()).changed()}
        with new_version(Path(root), meta, keep) as folder:
            link_corpus(corpus, folder / "corpus", bodies=bodies)
            stored = {
                encoder.name: vectors
                for encoder in encoders
                if (vectors := reusable_vectors(Path(root), corpus, encoder, vector_kind)) is not None
            }
            made = [encoder for encoder in encoders if encoder.name not in stored]
            earlier = {encoder.name: encoder for encoder in earlier_vectors(Path(root), corpus, made)}
            plan = BuildPlan.new(
                corpus,
                history,
                [earlier.get(encoder.name, encoder) for encoder in encoders],
                bm25=bm25,
                vector_kind=vector_kind,
                stored_vectors=stored,
            )
            meta |= write_parts(plan, folder, advance=advance)
            meta[DOMAIN] = fit_saved(
                Collection(corpus, history, plan.alive), folder / PAPERS, folder / CONTEXTS
            )
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
        advance: Advance = ignore_progress,
    ) -> IndexSnapshot:
        """A new version with more papers, links and contexts; old ones are not split into words or encoded again.

        BM25 statistics stay those of the last full build (:meth:`cocite.retrieval.engines.bm25.Bm25Index.append`). The
        id of a removed paper stays taken. Body sentences, new and old, are left out where no encoder of the index reads
        them.

        Args:
            root: the index folder.
            records: new papers with their links and contexts, as importers yield them.
            encoders: those that made the present vectors; others are left alone.
            rejects: file for records that break a rule.
            keep: how many versions stay.
            advance: receives the number of texts and vectors done since its last call.
        """
        VersionedFolder(root).current()  # raises where no index is, before a lock is made there
        meta: dict[str, Any] = {}
        # Opened inside the lock: no other writer may come between what is read and what is written.
        with new_version(Path(root), meta, keep) as folder:
            old = cls.open(root)
            present = encoders_by_name(old, encoders, root)
            meta |= inherited_meta(old)
            new = grown_collection(old, records, folder, present.values(), rejects)
            plan = BuildPlan.with_papers(old, new.corpus, new.history, present)
            meta |= write_parts(plan, folder, stored=old.path, advance=advance)
            old.close()
        return cls.open(root, verified=True)

    @classmethod
    def remove(cls, root: str | Path, ids: Sequence[str], *, keep: int = KEEP) -> IndexSnapshot:
        """A new version in which some papers are never found, do not vote and are no evidence.

        Their rows stay (a tombstone), so that nothing else changes its row; a full build leaves them out for good.
        Their contexts are dropped, also from what is said of the papers that they cite; the statistics that weigh words
        stay those of the last full build, so that nothing else changes its scores, and what does not change is linked.
        """
        VersionedFolder(root).current()
        meta: dict[str, Any] = {}
        with new_version(Path(root), meta, keep) as folder:
            old = cls.open(root)
            rows = find_papers(old.corpus, ids, root)
            meta |= inherited_meta(old)
            link_folder(old.path / "corpus", folder / "corpus")
            plan = BuildPlan.without_papers(old, rows)
            meta |= write_parts(plan, folder, stored=old.path)
            old.close()
        return cls.open(root, verified=True)

    @classmethod
    def reembed(
        cls,
        root: str | Path,
        encoders: Sequence[Encoder],
        *,
        keep: int = KEEP,
        advance: Advance = ignore_progress,
    ) -> IndexSnapshot:
        """A new version with the vectors of some encoders, and of no others; all else stays, removed papers too.

        Vectors of an encoder of the same id are linked. Those of a name are searched as before.

        Args:
            root: the index folder.
            encoders: each makes its vectors of all papers.
            keep: how many versions stay.
            advance: receives the number of vectors made or linked since its last call.

        Raises:
            InputError: an encoder reads body sentences, and the index has left them out.
        """
        VersionedFolder(root).current()
        meta: dict[str, Any] = {}
        with new_version(Path(root), meta, keep) as folder:
            old = cls.open(root)
            if read_bodies(encoders):
                old.corpus.require_bodies()
            meta |= inherited_meta(old)
            link_folder(old.path / "corpus", folder / "corpus")
            kinds = old.manifest.meta.get("vectors")
            plan = BuildPlan.with_encoders(old, encoders, kinds if isinstance(kinds, dict) else {})
            meta["encoder_ids"] = dict(plan.encoder_ids)
            meta |= write_parts(plan, folder, stored=old.path, advance=advance)
            old.close()
        return cls.open(root, verified=True)

    def close(self) -> None:
        """Release the version: it may be deleted once a newer one is there."""
        if self._lock is not None:
            self._lock.release()


def verify_index(root: str | Path, version: str | None = None) -> Manifest:
    """Compare every file of a version, the current one by default, with its SHA-256.

    Raises:
        IntegrityError: a file is damaged, or a shard is missing or of another version; the message names it.
    """
    versions = VersionedFolder(root)
    name, lock = versions.lock(version)
    try:
        path = versions.folder(name)
        check_shards(path, read_manifest(path, kind=KIND).meta.get("shards", ()))
        return verify_now(path, kind=KIND)
    finally:
        lock.release()


def list_versions(root: str | Path) -> list[dict[str, Any]]:
    """Each version, oldest first: ``version``, ``current``, ``bytes`` and the description in its manifest."""
    versions = VersionedFolder(root)
    current = versions.current()
    result = []
    for name in versions.names():
        manifest = read_manifest(versions.folder(name), kind=KIND)
        size = sum(entry["bytes"] for entry in manifest.files.values())
        result.append({"version": name, "current": name == current, "bytes": size, **manifest.meta})
    return result


def current_meta(root: str | Path) -> dict[str, Any]:
    """The description in the current version's manifest, without opening the index.

    Raises:
        NotFoundError: there is no index.
        IntegrityError: ``CURRENT`` is damaged, or names a version that is missing.
    """
    versions = VersionedFolder(root)
    name, lock = versions.lock()  # which a writer could delete before its manifest is read
    try:
        return dict(read_manifest(versions.folder(name), kind=KIND).meta)
    finally:
        lock.release()

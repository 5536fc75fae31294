"""Writing a version of an index: a build plan executed into a folder, one part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from cocite.artifacts import publish
from cocite.destinations import check_folder_destination
from cocite.errors import CociteError, InputError
from cocite.hard_links import link_folder
from cocite.manifests import MANIFEST, read_manifest
from cocite.retrieval.engines.bm25_files import save_group
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.documents import INSIDE, Advance, ignore_progress
from cocite.retrieval.index.known_contexts import FOLDER, KnownContexts
from cocite.retrieval.index.paper_indexes import PaperIndexes
from cocite.retrieval.index.plan import BuildPlan, Source
from cocite.retrieval.index.versions import VersionedFolder

KIND = "index"
"""The artifact's kind in its manifest."""
PAPERS, CONTEXTS, NAMES = "papers", "contexts", "names"
"""The folders of BM25 over the papers' fields, of BM25 over contexts and anchor texts, and of the tables of names."""


@contextmanager
def new_version(root: Path, meta: dict[str, Any], keep: int) -> Iterator[Path]:
    """A folder to fill; when the body ends it is sealed, becomes the current version, and old versions are deleted.

    Args:
        root: the index folder.
        meta: description for the manifest; the body may add to it.
        keep: how many versions stay.

    Raises:
        BusyError: another process writes a version.
    """
    versions = VersionedFolder(root)
    known: dict[str, dict[str, Any]] = {}
    with versions.writing() as name:
        with publish(versions.folder(name), kind=KIND, meta=meta, known=known) as folder:
            yield folder
            for other in versions.names():
                known |= linked_entries(folder, versions.folder(other))
            for nested in folder.glob(f"**/{MANIFEST}"):
                inside = nested.parent.relative_to(folder).as_posix()
                files = read_manifest(nested.parent).files
                known |= {f"{inside}/{file}": entry for file, entry in files.items()}
        versions.publish(name)
        versions.delete_old(keep)


def linked_entries(folder: Path, source: Path) -> dict[str, dict[str, Any]]:
    """What an artifact's manifest says of those of its files that are linked into another folder, at the same paths."""
    try:
        files = read_manifest(source).files
    except CociteError:  # the files are then read
        return {}
    return {
        name: entry
        for name, entry in files.items()
        if (folder / name).is_file() and (source / name).is_file() and (folder / name).samefile(source / name)
    }


def write_parts(
    plan: BuildPlan, folder: Path, *, stored: Path | None = None, advance: Advance = ignore_progress
) -> dict[str, Any]:
    """Execute a plan into a version's folder, whose ``corpus`` is there already.

    Parts are made one at a time, saved and let go: the largest of them bounds the memory. Parts that the plan reuses
    are linked.

    Args:
        plan: what to make.
        folder: of the new version.
        stored: the folder of the plan's base, where it has one.
        advance: receives the number of texts and vectors made or linked since its last call.

    Returns:
        The description of the parts for the manifest.
    """
    if stored is not None and plan.papers is Source.REUSE:
        link_folder(stored / PAPERS, folder / PAPERS)
    else:
        papers = plan.make_papers(advance)
        if not isinstance(papers, PaperIndexes):
            raise ValueError("an index of some fields alone cannot be written")
        papers.save(folder / PAPERS)
    if stored is not None and plan.papers is Source.REUSE and (stored / NAMES).is_dir():
        link_folder(stored / NAMES, folder / NAMES)
    else:
        plan.make_names().save(folder / NAMES)
    contexts = plan.make_contexts(advance)
    count = len(contexts)
    anchors = plan.make_anchors(contexts)
    indexes = {"contexts": contexts, **vars(anchors)}
    save_group(indexes, folder / CONTEXTS, inside=INSIDE, without_lists=("whole", "near"))
    del contexts, anchors, indexes  # before vectors are made, which take as much memory
    kinds = {name: _write_vectors(plan, name, folder, stored, advance) for name in plan.vectors}
    known = Collection(plan.corpus, plan.history, plan.alive)
    return {**describe(known, folder, count), "vectors": kinds}


def describe(collection: Collection, folder: Path, contexts: int) -> dict[str, Any]:
    """Write whose links are known and which papers are there; returns what a version's manifest says of them.

    The known contexts are written, too, unless they are there.

    Args:
        collection: the papers.
        folder: of the new version.
        contexts: how many are known.
    """
    np.save(folder / "history.npy", collection.history.citing)
    np.save(folder / "alive.npy", collection.alive)
    if not (folder / FOLDER).is_dir():
        KnownContexts(collection.context_papers, collection.cited_by_context).save(folder / FOLDER)
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "corpus": collection.corpus.version,
        "papers": len(collection),
        "alive": int(collection.alive.sum()),
        "contexts": contexts,
    }


def _write_vectors(plan: BuildPlan, name: str, folder: Path, stored: Path | None, advance: Advance) -> str:
    """Link or make the vectors of one encoder; returns their kind."""
    source, destination = plan.vectors[name], folder / "vectors" / name
    present = source.folder or (stored / "vectors" / name if stored is not None else None)
    if present is not None and source.source is Source.REUSE:
        link_folder(present, destination)
        advance(len(plan.corpus))
        return VectorIndex.load(destination).kind
    vectors = plan.make_vectors(name, advance)
    vectors.save(destination)
    return vectors.kind


def check_index_folder(root: Path) -> None:
    """Refuse a folder that holds something else than an index.

    Raises:
        InputError: it does.
    """
    check_folder_destination(root)
    if root.exists() and not (root / "CURRENT").exists():
        entries = {path.name for path in root.iterdir()} if root.is_dir() else {""}
        if entries - {"versions", "locks"}:
            raise InputError(
                "holds something that is not an index", where=str(root), hint="choose another folder"
            )

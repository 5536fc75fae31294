"""What each part of an index takes: bytes on disk, and which of them are in memory as soon as it is open."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from cocite.manifests import read_manifest
from cocite.retrieval.index.version_writer import KIND
from cocite.retrieval.index.versions import VersionedFolder

_BM25 = {"counts": "documents", "lists": "inverted lists", "idf": "inverted lists"}


class PartSize(NamedTuple):
    """The size of one part of a version.

    Example:
        >>> PartSize("papers: documents", 130_000, 100, loaded=False).per_paper
        1300.0
    """

    part: str
    bytes: int
    """On disk."""
    papers: int
    """Papers in the index."""
    loaded: bool
    """Read into memory when the index is opened; other parts are mapped, and what queries touch becomes resident."""

    @property
    def per_paper(self) -> float:
        """Bytes on disk for each paper."""
        return self.bytes / max(self.papers, 1)


def part_sizes(root: str | Path, version: str | None = None) -> list[PartSize]:
    """The parts of a version, the current one by default, largest first; together they are all its files.

    A part of an index in shards is that of all its shards.

    Raises:
        NotFoundError: there is no such version, or no index.
    """
    versions = VersionedFolder(Path(root))
    manifest = read_manifest(versions.folder(version or versions.current()), kind=KIND)
    sizes: dict[tuple[str, bool], int] = defaultdict(int)
    for name, entry in manifest.files.items():
        sizes[_part(name)] += int(entry["bytes"])
    papers = int(manifest.meta["papers"])
    parts = [PartSize(part, size, papers, loaded) for (part, loaded), size in sizes.items()]
    return sorted(parts, key=lambda part: (-part.bytes, part.part))


def _part(name: str) -> tuple[str, bool]:
    """The part that a file belongs to, and whether opening the index reads it into memory."""
    match name.split("/"):
        case ["shards", _, *rest] | ["words", *rest]:  # the words hold the vocabularies of the groups' fields
            name = "/".join(rest)
    *folders, file = name.split("/")
    stem = file.partition(".")[0]
    match folders:
        case ["corpus", *_]:
            return f"corpus: {stem}", False
        case ["papers" | "contexts" as group, *_]:
            return f"{group}: {_BM25.get(stem, stem)}", stem == "vocabulary"
        case ["names"]:
            return f"names: {stem}", False
        case ["known"]:
            return "known contexts", False
        case ["vectors", encoder]:
            # FAISS maps its file of an exact index; it reads lists and graphs.
            return f"vectors: {encoder}, {'searched' if stem == 'index' else 'exact'}", stem == "index"
        case _:
            return "history", True

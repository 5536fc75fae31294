"""What an index takes: bytes on disk by part, which of them opening reads, and the memory that opening costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cocite.manifests import read_manifest
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.version_writer import KIND
from cocite.retrieval.index.versions import VersionedFolder

_BM25 = {"counts": "documents", "lists": "inverted lists", "idf": "inverted lists"}
_STATUS = Path("/proc/self/status")


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
    kinds = manifest.meta["vectors"]
    for name, entry in manifest.files.items():
        sizes[_part(name, kinds)] += int(entry["bytes"])
    papers = int(manifest.meta["papers"])
    parts = [PartSize(part, size, papers, loaded) for (part, loaded), size in sizes.items()]
    return sorted(parts, key=lambda part: (-part.bytes, part.part))


def opened_bytes(root: str | Path) -> int | None:
    """Memory of its own, in bytes, that a process takes when it opens the current version: mapped files do not count.

    Vocabularies, counts and years are there as they are searched, which is larger than their files. As measured in this
    process, so smaller amounts than some megabytes drown in what else it does. None where the system does not tell.

    Raises:
        CociteError: as :func:`~cocite.retrieval.index.opening.open_index`.
    """
    if not _STATUS.is_file():
        return None
    before = _anonymous()
    index = open_index(root)
    after = _anonymous()
    del index
    return max(0, after - before)


def _anonymous() -> int:
    """Bytes of this process that no file backs."""
    return 1024 * int(_STATUS.read_text().split("RssAnon:")[1].split()[0])


def _part(name: str, kinds: Mapping[str, str]) -> tuple[str, bool]:
    """The part that a file belongs to, and whether opening the index reads it into memory, given vectors' kinds."""
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
            searched = stem == "index" and kinds[encoder] != "flat"
            return f"vectors: {encoder}, {'searched' if searched else 'exact'}", searched
        case _:
            return "history", True

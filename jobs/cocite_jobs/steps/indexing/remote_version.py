"""A version of an index that is made in an object store: what is large never comes to the process that publishes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.artifacts import seal
from cocite.errors import InputError
from cocite.manifests import MANIFEST, manifest_text, read_manifest
from cocite.retrieval.index.shard_layout import SHARDS
from cocite.retrieval.index.sharded_plan import ShardedPlan
from cocite.retrieval.index.version_writer import KIND
from cocite.retrieval.index.versions import current_text
from cocite.temporary import temporary_beside
from cocite_jobs.storage.cache import copies_of
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import CURRENT, VERSIONS


@dataclass(frozen=True)
class RemoteVersion:
    """The next version of an index elsewhere.

    Attributes:
        root: the index folder.
        name: of the version.

    Example:
        >>> RemoteVersion(Location.of("memory://index"), "000001").folder.uri
        'memory://index/versions/000001'
    """

    root: Location
    name: str

    @classmethod
    def next(cls, root: Location) -> RemoteVersion:
        """The one behind those that are complete.

        Raises:
            InputError: the folder holds something that is not an index.
        """
        names = root.names()
        if CURRENT not in names and set(names) - {VERSIONS}:
            raise InputError(
                "holds something that is not an index", where=root.uri, hint="choose another folder"
            )
        versions = root / VERSIONS
        complete = [
            name for name in versions.names() if name.isdigit() and MANIFEST in (versions / name).names()
        ]
        return cls(root, f"{int(max(complete)) + 1 if complete else 1:06d}")

    @property
    def folder(self) -> Location:
        """That of the version."""
        return self.root / VERSIONS / self.name

    def fetch_tables(self, version: Path) -> None:
        """Copy what workers uploaded into a local folder, but of each shard its manifest alone."""

        def is_wanted(name: str) -> bool:
            inside = name.split("/")
            return inside[0] != SHARDS or inside[2:] == [MANIFEST]

        self.folder.download(version, filter(is_wanted, self.folder.files_below()))

    def publish(self, plan: ShardedPlan, write: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        """Fill the version, complete it, and name it current.

        Args:
            plan: of the index.
            write: lets workers upload the shards and the tables, and calls :meth:`fetch_tables`.

        Returns:
            What its manifest says.
        """
        # In the cache, with the corpus, which is linked.
        with temporary_beside(copies_of(self.root), folder=True) as folder:
            meta = plan.fill(folder, write)
            there = set(self.folder.files_below())
            files = seal(folder, kind=KIND, meta=meta).files
            for shard in sorted((folder / SHARDS).iterdir()):
                of_shard = read_manifest(shard).files
                files |= {f"{SHARDS}/{shard.name}/{name}": entry for name, entry in of_shard.items()}
            (folder / MANIFEST).write_text(manifest_text(KIND, meta, files), encoding="utf-8")
            self.folder.upload(folder, [*sorted(files.keys() - there), MANIFEST])
            self.root.write(CURRENT, current_text(self.name))
        return meta

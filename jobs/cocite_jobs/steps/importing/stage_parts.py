"""How the parts of a source are made: read, cleaned and staged on disk, where the import puts them together."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from cocite.corpus.importers import FORMATS
from cocite.corpus.importers.parts import SourcePart
from cocite.corpus.importers.table import Table
from cocite.corpus.rules import Limits
from cocite.corpus.staged_parts import stage_part
from cocite_jobs.steps.parts import Part, Result
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import fetch


@dataclass(frozen=True)
class StageParts:
    """Reads parts of a source, each into a folder of its own.

    Attributes:
        source: the file or folder: a URI, or an absolute path under which every worker sees it.
        format: one of ``cocite.corpus.importers.FORMATS``.
        folder: for the parts' folders, which every worker sees, too.
        limits: what a field may hold.
        strict: end a part at its first bad record.
        columns: of a table: pairs of a field and its column; empty: columns have the names of fields.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.importers import open_source
        >>> from cocite.corpus.starter import PAPERS
        >>> source_parts = open_source(PAPERS).parts(100_000)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     make = StageParts(str(PAPERS), "jsonl", Location.of(folder), Limits()).open()
        ...     make(part_of(1, source_parts[1]))["failed"], [path.name for path in Path(folder).iterdir()]
        ({}, ['00001'])
    """

    source: str
    format: str
    folder: Location
    limits: Limits
    strict: bool = False
    columns: tuple[tuple[str, str], ...] = ()

    def open(self) -> Callable[[Part], Result]:
        """Open the source, once for all parts that a process makes."""
        path = fetch(self.source)
        source = Table(path, dict(self.columns)) if self.columns else FORMATS[self.format](path)

        def stage(part: Part, folder: Path) -> Result:
            chosen = SourcePart(**part.arguments)
            return asdict(stage_part(source, chosen, folder, limits=self.limits, strict=self.strict))

        def make(part: Part) -> Result:
            target = self.folder / part.name
            if target.local is not None:
                target.local.parent.mkdir(parents=True, exist_ok=True)
                return stage(part, target.local)
            with tempfile.TemporaryDirectory(prefix="cocite-part-") as temporary:
                folder = Path(temporary, part.name)
                result = stage(part, folder)
                target.upload(folder, sorted(path.name for path in folder.iterdir()))
            return result

        return make


def part_of(number: int, part: SourcePart) -> Part:
    """A part of a source as a part of the step."""
    return Part(f"{number:05d}", part.size, asdict(part))

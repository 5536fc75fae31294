"""Parts of a source, each staged on disk by a process of its own, and their shares in the order of the source.

A staged part is a folder with files of the tables of :mod:`cocite.corpus.share`, each of which holds a record batch for
each share, and ``shares.jsonl``, which holds the shares' files and hits of rules. What is looked at of all parts before
any is resolved is in files of its own (:data:`SURVEYED`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cocite.atomic_files import sync
from cocite.corpus.hits import Hit, StrictHitError
from cocite.corpus.importers.parts import SourcePart
from cocite.corpus.importers.source import Source
from cocite.corpus.record_block import RecordBlock
from cocite.corpus.rules import Limits
from cocite.corpus.share import CONTEXT_SHARE, PAPER_SHARE, TABLES, Share, ShareBuilder
from cocite.corpus.spill import NpyWriter, read_batches
from cocite.corpus.store import id_hashes
from cocite.errors import InputError
from cocite.part_files import PartFiles
from cocite.temporary import temporary_beside

STAGED = "staged"
"""The folder of the parts' folders."""
SHARES = "shares.jsonl"
CONTEXT_IDS = "contexts.ids.npy"
"""64-bit hashes of the ids of a part's contexts; empty where one is made of a number."""
_PAPER_KEYS = ("id", "year", "hash", "check", "sequence", "file", "line")
_CONTEXT_KEYS = ("id", "sequence", "file", "line")
FILES = {
    "papers.keys": ("papers", _PAPER_KEYS),
    "papers": ("papers", tuple(name for name in PAPER_SHARE.names if name not in _PAPER_KEYS)),
    "links": ("links", tuple(TABLES["links"].names)),
    "contexts.keys": ("contexts", _CONTEXT_KEYS),
    "contexts": ("contexts", tuple(name for name in CONTEXT_SHARE.names if name not in _CONTEXT_KEYS)),
    "sentences": ("sentences", tuple(TABLES["sentences"].names)),
}
"""Arrow file of a staged part -> the table that it is of, and its columns."""
KEYS = ("papers.keys", "links", "contexts.keys")
"""Those without the texts, of which most is read alone."""
SURVEYED = (SHARES, CONTEXT_IDS, *(f"{name}.arrow" for name in KEYS))
"""The files that are read of all parts before any is resolved."""
RunStep = Callable[[Any, int], list[dict[str, Any]]]
"""Makes the parts of a step, which are numbered from 0, and gives their results: see :mod:`cocite.corpus.division`."""


@dataclass(frozen=True)
class StagedPart:
    """What a part of a source held.

    Attributes:
        lines: number of lines of the file that were read.
        numbers: number of contexts that the source gives no id.
        failed: ``message``, ``where`` and ``hint`` of the error that ended the reading; empty: there was none.
        named: number of kept contexts with an id of their own.
        longest: characters of the longest id that is made of a number.

    Example:
        >>> from cocite.corpus.staged_parts import StagedPart
        >>> StagedPart(lines=7, numbers=0).failed
        {}
    """

    lines: int
    numbers: int
    failed: dict[str, Any] = field(default_factory=dict)
    named: int = 0
    longest: int = 0


def stage_part(
    source: Source,
    part: SourcePart,
    folder: Path,
    *,
    limits: Limits | None = None,
    strict: bool = False,
) -> StagedPart:
    """Read a part of a source, and write its shares to a folder, which appears whole and replaces an existing one.

    A source that turns out to be damaged, and the first bad record of a strict import, end the part: the import looks
    at what stands before it, and then raises the error.
    """
    builder = ShareBuilder(limits=limits, strict=strict)
    failed: dict[str, Any] = {}
    with temporary_beside(folder, folder=True) as temporary:
        with _ShareWriter(temporary) as writer:
            try:
                for record in source.record_blocks(part):
                    if isinstance(record, RecordBlock):
                        builder.add_block(record)
                    else:
                        builder.add(record, source.position)
                    if builder.is_full:
                        writer.write(builder.take())
            except StrictHitError:
                pass
            except InputError as error:
                failed = {"message": error.message, "where": error.where, "hint": error.hint}
            writer.write(builder.take())
        for file in temporary.iterdir():
            sync(file)
        if folder.exists():
            shutil.rmtree(folder)
        temporary.rename(folder)
    return StagedPart(source.position.line, builder.numbers, failed, writer.named, writer.longest)


@dataclass(frozen=True)
class StagedParts:
    """All parts of a source, as :func:`cocite.corpus.builder.build` takes them.

    Attributes:
        path: of the source.
        files: where the parts are staged.
        names: of their folders in ``STAGED``, in their order.
        parts: of the source.
        staged: what each held.
        limits: what a field may hold, as when the parts were staged.
        run: makes the parts of further steps side by side; None: one process puts the parts together.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.importers import open_source
        >>> from cocite.corpus.staged_parts import StagedParts, stage_part
        >>> from cocite.corpus.starter import PAPERS
        >>> from cocite.part_files import LocalFiles
        >>> source = open_source(PAPERS)
        >>> parts = source.parts(100_000)
        >>> names = [str(number) for number in range(len(parts))]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "staged").mkdir()
        ...     staged = [stage_part(source, part, Path(folder, "staged", name)) for part, name in zip(parts, names)]
        ...     whole = StagedParts(source.path, LocalFiles(Path(folder)), names, parts, staged)
        ...     corpus = build(whole, Path(folder, "store"))
        ...     len(corpus), corpus.version == build(source, Path(folder, "again")).version
        (423, True)
    """

    path: Path
    files: PartFiles
    names: Sequence[str]
    parts: Sequence[SourcePart]
    staged: Sequence[StagedPart]
    limits: Limits = field(default_factory=Limits)
    run: RunStep | None = None

    def folders(self, only: Sequence[str] | None = None) -> Iterator[Path]:
        """The folders of the parts one after the other, or some of their files; see ``PartFiles.each``."""
        return self.files.each([f"{STAGED}/{name}" for name in self.names], only)

    def shares(self) -> Iterator[Share]:
        """The shares of all parts, with lines and numbers of the whole source.

        Raises:
            InputError: the source turned out to be damaged here.
        """
        lines = numbers = 0
        for folder, part, staged in zip(self.folders(), self.parts, self.staged, strict=True):
            lines = lines if part.continues else 0
            for share in read_shares(folder):
                yield _moved(share, lines, numbers, self.limits.id)
            if staged.failed:
                raise failure_of(staged)
            lines += staged.lines
            numbers += staged.numbers


def failure_of(staged: StagedPart) -> InputError:
    """The error that ended the reading of a part."""
    failed = staged.failed
    return InputError(failed["message"], where=failed["where"], hint=failed["hint"])


def read_shares(
    folder: Path, *, mapped: bool = False, files: Sequence[str] = tuple(FILES)
) -> Iterator[Share]:
    """The shares of a staged part, as it holds them.

    Args:
        folder: of the part.
        mapped: map the tables, of which what is looked at alone is read then.
        files: that are read, of ``FILES``; the tables lack the columns of the others.
    """
    read = [read_batches(folder / f"{name}.arrow", mapped=mapped) for name in files]
    with (folder / SHARES).open(encoding="ascii") as lines:
        for line, *batches in zip(lines, *read, strict=True):
            entry = json.loads(line)
            hits = [Hit(**hit) for hit in entry["hits"]]
            yield Share(_tables(dict(zip(files, batches, strict=True))), entry["files"], hits)


def _tables(batches: dict[str, pa.RecordBatch]) -> dict[str, pa.RecordBatch]:
    """The tables of a share, by what was read of its files."""
    columns: dict[str, dict[str, pa.Array]] = {}
    for name, batch in batches.items():
        columns.setdefault(FILES[name][0], {}).update(zip(batch.schema.names, batch.columns, strict=True))
    return {
        table: pa.RecordBatch.from_arrays(
            [found[name] for name in TABLES[table].names if name in found],
            schema=pa.schema([field for field in TABLES[table] if field.name in found]),
        )
        for table, found in columns.items()
    }


class _ShareWriter(ExitStack):
    """Writes the shares of a part, empty tables too."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.named = self.longest = 0
        self._ids = NpyWriter(folder / CONTEXT_IDS, np.uint64)
        self.callback(self._ids.close)
        self._lines = self.enter_context((folder / SHARES).open("w", encoding="ascii"))
        self._files = {
            name: self.enter_context(
                pa.ipc.new_file(
                    self.enter_context(pa.OSFile(str(folder / f"{name}.arrow"), "wb")),
                    pa.schema([TABLES[table].field(column) for column in columns]),
                )
            )
            for name, (table, columns) in FILES.items()
        }

    def write(self, share: Share) -> None:
        """Append a share."""
        for name, (table, columns) in FILES.items():
            self._files[name].write_batch(share.tables[table].select(columns))
        self._write_ids(share.tables["contexts"])
        entry = {"files": share.files, "hits": [asdict(hit) for hit in share.hits]}
        self._lines.write(json.dumps(entry) + "\n")

    def _write_ids(self, contexts: pa.RecordBatch) -> None:
        named = contexts["number"].to_numpy() < 0
        self.named += int(named.sum())
        if not named.all():
            numbered = contexts["id"].filter(pa.array(~named))
            self.longest = max(self.longest, pc.max(pc.utf8_length(numbered)).as_py())
        self._ids.write(id_hashes(contexts["id"].filter(pa.array(named)).cast(pa.binary()).to_pylist()))


def _moved(share: Share, lines: int, numbers: int, longest: int) -> Share:
    """A share in the whole source, which has so many lines and numbered contexts before its part."""
    for hit in share.hits:
        hit.moved(lines, numbers)
    if lines:
        for name, table in share.tables.items():
            moved = table["line"].to_numpy() + lines
            share.tables[name] = _with_column(table, "line", pa.array(moved))
    if numbers:
        _renumber(share, numbers, longest)
    return share


def _renumber(share: Share, numbers: int, longest: int) -> None:
    """Make the ids of contexts that have a number of their numbers in the whole source."""
    contexts = renumbered(share.tables["contexts"], numbers)
    too_long = pc.utf8_length(contexts["id"]).to_numpy() > longest
    for row in contexts.filter(pa.array(too_long)).select(["id", "sequence", "file", "line"]).to_pylist():
        reason = f"the id is broken or longer than {longest} characters"
        details = {"field": "id", "id": row["id"][:80]}
        file = share.files[row["file"]]
        share.hits.append(Hit(row["sequence"], "missing_id", reason, file, row["line"], details))
    share.tables["contexts"] = contexts.filter(pa.array(~too_long)) if too_long.any() else contexts


def renumbered(contexts: pa.RecordBatch, numbers: int) -> pa.RecordBatch:
    """Contexts of a share, those whose id has a number with the id in a source that has so many before."""
    number = contexts["number"].to_numpy()
    if not numbers or not (number >= 0).any():
        return contexts
    begin = pc.replace_substring_regex(contexts["id"], "[0-9]+$", "")
    ids = pc.binary_join_element_wise(begin, pc.cast(pa.array(number + numbers), pa.string()), "")
    return _with_column(contexts, "id", pc.if_else(pa.array(number >= 0), ids, contexts["id"]))


def _with_column(table: pa.RecordBatch, name: str, values: pa.Array) -> pa.RecordBatch:
    return table.set_column(table.schema.get_field_index(name), table.schema.field(name), values)

"""Parts of a source: whole files, or ranges of large ones, which can be read one apart from the other."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from pathlib import Path

from cocite.corpus.importers.files import BUFFER, packing


@dataclass(frozen=True)
class SourcePart:
    """A part of a source.

    Attributes:
        file: position among the source's files in their order of reading; -1: all of the source.
        first: where the part begins in the file: a byte at which a line begins, or a row group.
        last: where it ends, likewise; None: at the end of the file.
        size: bytes of the file that it is made of, about.
        continues: whether its lines are numbered from its own beginning, and go on after those of the part before.

    Example:
        >>> from cocite.corpus.importers.parts import SourcePart
        >>> SourcePart(file=0, first=1 << 20, last=2 << 20, size=1 << 20, continues=True).is_first
        False
    """

    file: int = -1
    first: int = 0
    last: int | None = None
    size: int = 0
    continues: bool = False

    @property
    def is_first(self) -> bool:
        """Whether it is the first part of a source, which gives what concerns no file that is read."""
        return self.file <= 0 and self.first == 0


def byte_ranges(file: Path, size: int) -> list[tuple[int, int]]:
    """Ranges of about ``size`` bytes of an uncompressed file, each of which begins and ends at the beginning of a line.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.parts import byte_ranges
        >>> _ = Path("three.jsonl").write_text('{"id": 1}\\n{"id": 2}\\n{"id": 3}\\n')
        >>> byte_ranges(Path("three.jsonl"), 15)
        [(0, 20), (20, 30)]
    """
    total = os.path.getsize(file)
    cuts = [0]
    with file.open("rb", buffering=BUFFER) as stream:
        if packing(stream.read(8)):
            return [(0, total)]
        while cuts[-1] + size < total:
            # From the byte before, so that a cut at which a line begins stays.
            stream.seek(cuts[-1] + size - 1)
            while (piece := stream.readline(BUFFER)) and not piece.endswith(b"\n"):
                pass
            cuts.append(stream.tell())
    if len(cuts) == 1 or cuts[-1] < total:
        cuts.append(total)
    return list(itertools.pairwise(cuts))

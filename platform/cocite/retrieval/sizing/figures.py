"""The indexes that were measured, from which the needs of others are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cocite.manifests import read_json

FILE = Path(__file__).parent / "figures.json"
"""``python -m benchmarks.scale --figures`` writes it."""


@dataclass(frozen=True)
class MeasuredIndex:
    """One index without vectors that was built, opened and asked on one machine.

    Attributes:
        papers, contexts, links, words, shards: what it holds; ``words`` are of both vocabularies.
        bytes: on disk, by part.
        before: anonymous memory of the process before it opened the index, bytes.
        with_words, with_contexts, opened: the same with the vocabularies, then with what each context cites, then with
            all that a first stage holds; the shards are in the process.
        cpu_ms: medians of the CPU milliseconds of queries asked alone, by kind of query and step.
        build_cpu_s: CPU seconds that the build took; None where it was not measured.
        build_memory: its peak of anonymous memory, bytes.
        command: that printed the figures.
        date: when, as ``2026-11-22``.
        cpu: the processor.

    Example:
        >>> measured = measured_indexes()[0]
        >>> measured.bytes["corpus: papers"] / measured.papers > 100
        True
        >>> measured.command
        'python -m benchmarks.scale --papers 100000 --shards 1'
    """

    papers: int
    contexts: int
    links: int
    words: int
    shards: int
    bytes: Mapping[str, int]
    before: float
    with_words: float
    with_contexts: float
    opened: float
    cpu_ms: Mapping[str, Mapping[str, float]]
    build_cpu_s: float | None
    build_memory: float | None
    command: str
    date: str
    cpu: str

    @property
    def text_bytes(self) -> int:
        """Bytes of the papers' and the contexts' texts in the corpus store."""
        return self.bytes["corpus: papers"] + self.bytes["corpus: contexts"]

    def to_json(self) -> dict[str, Any]:
        """As it stands in the file."""
        return asdict(self)


def measured_indexes(path: Path = FILE) -> Sequence[MeasuredIndex]:
    """All measured indexes, the smallest first; of one size, that of fewest shards.

    Raises:
        NotFoundError: there is no such file.
        IntegrityError: it is not JSON.
    """
    found = [MeasuredIndex(**entry) for entry in read_json(path)["indexes"]]
    return sorted(found, key=lambda measured: (measured.papers, measured.shards))

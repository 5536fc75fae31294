"""Whatever the sizes of parts, runs, ranges and batches, the store is that of one process."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.records import write_lines
from helpers.staged import import_parts, one_part, outcome

from cocite.corpus import resolver, spill
from cocite.corpus.division import aligned, assembly, resolve_part, runs


def source_of(path: Path) -> Path:
    """Papers in no order of their texts, with unknown, later, repeated and self citations and repeated ids."""
    lines: list[Any] = []
    for n in range(70):
        cited = [f"p{n // 2}", f"p{(n * 7) % 60}", f"p{n + 3}", f"x{n % 9}", f"p{n}", f"p{n // 2}"]
        lines.append({"id": f"p{n % 65}", "title": f"T{n}", "year": 1990 + n % 5, "citations": cited})
        context = {"citing": f"p{(n * 13) % 80}", "cited": cited[:4], "context": f"text {n} [CIT]"}
        lines.append(context | {"id": f"k{n % 60}"})
        lines.append({"paper": f"p{(n * 11) % 80}", "text": f"sentence {n}", "position": n % 3})
    return write_lines(path, lines)


@pytest.mark.parametrize("size", [300, 2000, 1 << 20])
@pytest.mark.parametrize(
    "options",
    [{}, {"bodies": False}, {"links_from_contexts": True}, {"split": lambda year: "train" if year < 1992 else "test"}],
)  # fmt: skip
def test_sizes_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, options: dict[str, Any]
) -> None:
    source = source_of(tmp_path / "x.jsonl")
    for module in (spill, aligned):
        monkeypatch.setattr(module, "BATCH", 16)
    for module in (resolver, resolve_part):
        monkeypatch.setattr(module, "BLOCK", 40)
    one = outcome(tmp_path / "at", partial(one_part, source), **options)
    monkeypatch.setattr(runs, "PAIRS", 50)
    monkeypatch.setattr(runs, "TEXTS", 12)
    monkeypatch.setattr(assembly, "RANGE", 30)
    divided = outcome(tmp_path / "at", partial(import_parts, source, size=size, divided=True), **options)
    assert one == divided
    assert not one["error"]
    assert b"later_citation" in one["rejects.jsonl"]
    assert b"unknown_citation" in one["rejects.jsonl"]

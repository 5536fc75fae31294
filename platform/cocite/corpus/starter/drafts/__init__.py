"""Drafts to try with the starter corpus, with the paper that a reader would expect in each of their gaps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

EXPECTED = Path(__file__).with_name("expected.json")


@dataclass(frozen=True, slots=True)
class StarterDraft:
    """A draft that is shipped with cocite.

    Attributes:
        path: of its file: LaTeX, Markdown or plain text.
        expected: for each gap, in the order of the text, the id of the starter paper that a reader would expect there.

    Example:
        >>> from cocite.corpus.starter.drafts import starter_drafts
        >>> [draft.path.name for draft in starter_drafts()]
        ['translation.tex', 'search.md', 'recommendation.txt']
        >>> starter_drafts()[0].expected[0]
        'bahdanau2015neural'
    """

    path: Path
    expected: tuple[str, ...]


def starter_drafts() -> tuple[StarterDraft, ...]:
    """All drafts, as ``expected.json`` lists them."""
    expected: dict[str, list[str]] = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return tuple(StarterDraft(EXPECTED.with_name(name), tuple(ids)) for name, ids in expected.items())

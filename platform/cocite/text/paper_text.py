"""A paper as one text, which every transformer of cocite reads."""

from __future__ import annotations


def paper_text(title: str | None, abstract: str | None) -> str:
    """Title and abstract as one text, joined by a full stop.

    Example:
        >>> paper_text("A survey", "We review.")
        'A survey. We review.'
        >>> paper_text(None, " We review. ")
        'We review.'
    """
    return ". ".join(part for part in ((title or "").strip(), (abstract or "").strip()) if part)

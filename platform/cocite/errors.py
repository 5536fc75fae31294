"""The errors that a user can cause, each told in one sentence: what, where, and what to do.

The command line prints the sentence and exits with the class's ``exit_code``; anything that is not a
:class:`CociteError` is a defect of cocite and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CociteError(Exception):
    """Base of all errors that are told in a sentence.

    Args:
        message: what went wrong, with the offending value.
        where: file, line, field or command-line option it was found in.
        hint: what to do about it.
    """

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} ({self.hint})" if self.hint else text


class InputError(CociteError):
    """What the user gave cannot be used: a file, a record, an option."""

    exit_code = 2


class ConfigError(InputError):
    """A recipe or setting that does not fit its type, or names an unknown key."""


class NotFoundError(InputError):
    """A folder, file, paper id or version that does not exist."""


class IntegrityError(CociteError):
    """An artifact whose files do not match its manifest."""

    exit_code = 3


class WriteError(CociteError):
    """A destination that cannot be written: no space, no permission, a read-only file system."""


class BusyError(CociteError):
    """Another process holds what this one needs to write."""

    exit_code = 4


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names the known key closest to a misspelt one; with none close, all of them (at most 20)."""
    names = sorted(known)
    folded = {other.casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), sorted(folded), n=1, cutoff=0.5)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    if not names:
        return "none is known"
    return "known: " + ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")

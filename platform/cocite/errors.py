"""The errors that a user can cause, each printed as one sentence: where, what, and what to do.

The command line prints the sentence and exits with the class's ``exit_code``; anything that is not a
:class:`CociteError` is a defect of cocite and keeps its traceback.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


class CociteError(Exception):
    """Base of all errors that are printed as a sentence.

    Args:
        message: what went wrong, with the offending value.
        where: file, line, field or command-line option it was found in.
        hint: what to do about it.

    Attributes:
        exit_code: of a command that ends with the error.

    Example:
        >>> from cocite.errors import CociteError
        >>> str(CociteError("no space left on the device", where="corpus", hint="free some space"))
        'corpus: no space left on the device (free some space)'
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
    """The user's input cannot be used: a file, a record, an option.

    Example:
        >>> from cocite.corpus.splits import parse_years
        >>> parse_years("2009")
        Traceback (most recent call last):
        cocite.errors.InputError: split years: '2009' is not two years as 2009,2010
    """

    exit_code = 2


class ConfigError(InputError):
    """A recipe or setting does not fit its type, or names an unknown key.

    Example:
        >>> from cocite.config import Settings
        >>> class Loop(Settings):
        ...     epochs: int = 3
        >>> Loop.parse({"epoch": 5})
        Traceback (most recent call last):
        cocite.errors.ConfigError: unknown key 'epoch' (did you mean 'epochs'?)
    """


class NotFoundError(InputError):
    """A folder, file, paper id or version does not exist.

    Example:
        >>> from pathlib import Path
        >>> from cocite.manifests import read_manifest
        >>> read_manifest(Path("no-such-model"))
        Traceback (most recent call last):
        cocite.errors.NotFoundError: no-such-model: no such folder
    """


class IntegrityError(CociteError):
    """The files of an artifact do not match its manifest.

    Example:
        >>> from pathlib import Path
        >>> from cocite.artifacts import publish, verify
        >>> with publish(Path("model"), kind="model", meta={}) as folder:
        ...     _ = (folder / "weights").write_text("1.0")
        >>> _ = Path("model/weights").write_text("1.5")
        >>> verify(Path("model"))
        Traceback (most recent call last):
        cocite.errors.IntegrityError: model/weights: damaged: its SHA-256 is not the manifest's (restore it or ...)
    """

    exit_code = 3


class WriteError(CociteError):
    """A destination cannot be written: no space, no permission, a read-only file system.

    Example:
        >>> import errno
        >>> from cocite.write_errors import writing_to
        >>> with writing_to("corpus"):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
        cocite.errors.WriteError: corpus: no space left on the device (free some space or choose another place; ...)
    """


class BusyError(CociteError):
    """Another process is writing to the folder that this one needs to write to.

    Example:
        >>> from pathlib import Path
        >>> from cocite.locks import locked
        >>> with locked(Path(".corpus.lock"), folder="corpus"), locked(Path(".corpus.lock"), folder="corpus"):
        ...     pass
        Traceback (most recent call last):
        cocite.errors.BusyError: corpus: process ... is at work here (wait until it ends, or name another folder)
    """

    exit_code = 4


class StoppedError(CociteError):
    """A signal asked work to stop, and it did, with what it had made kept.

    Example:
        >>> print(StoppedError("stopped after step 40", where="training", hint="pass --resume to go on from there"))
        training: stopped after step 40 (pass --resume to go on from there)
    """

    exit_code = 143  # as shells give it for SIGTERM


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names the known key closest to a misspelt one; with none close, all of them (at most 20).

    Example:
        >>> from cocite.errors import nearest
        >>> nearest("lerning_rate", ["learning_rate", "epochs"])
        "did you mean 'learning_rate'?"
    """
    names = sorted(known)
    folded = {other.casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), sorted(folded), n=1, cutoff=0.5)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    if not names:
        return "none is known"
    return "known: " + ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")


def without_passwords(text: str) -> str:
    """A text whose addresses show neither users nor passwords.

    Example:
        >>> without_passwords("cannot reach https://me:secret@runs.example.org/api")
        'cannot reach https://runs.example.org/api'
    """
    return re.sub(r"//[^/@\s]*@", "//", text)

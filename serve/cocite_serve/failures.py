"""What a log may tell of an error: where it was raised and of which class, and never its words.

The message of an error from Python or a library may quote what it was given, and that may be a manuscript. The
messages of cocite's own errors say what is wrong with a file or a setting.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator

from cocite.errors import CociteError

_FRAME = re.compile(r'File "([^"\n]+)", line (\d+), in (\S+)')


class StageFailedError(Exception):
    """A defect in a stage, without the words of the error that it was.

    Attributes:
        stage: its name.
        lines: what :func:`describe` said of the error where it was raised.

    Example:
        >>> print(StageFailedError("reranker", ["KeyError", "rank.py:3 in rank"]))
        the reranker failed: KeyError; rank.py:3 in rank
    """

    def __init__(self, stage: str, lines: list[str]) -> None:
        super().__init__(f"the {stage} failed: {'; '.join(lines)}")
        self.stage, self.lines = stage, lines

    def __reduce__(self) -> tuple[type[StageFailedError], tuple[str, list[str]]]:
        return type(self), (self.stage, self.lines)


def describe(error: BaseException) -> list[str]:
    """The classes of an error and of its causes, each with the places that it went through, the innermost last.

    Example:
        >>> try:
        ...     {}["the words of a draft"]
        ... except KeyError as error:
        ...     lines = describe(error)
        >>> lines[0], "draft" in str(lines)
        ('KeyError', False)
    """
    lines: list[str] = []
    for each in _chain(error):
        name = type(each).__qualname__
        lines.append(f"{name}: {each}" if isinstance(each, CociteError | StageFailedError) else name)
        lines += [
            f"{frame.filename}:{frame.lineno} in {frame.name}"
            for frame in traceback.extract_tb(each.__traceback__)
        ]
        # Ray's errors have the traceback of the other process as a text, its words included.
        remote = getattr(each, "traceback_str", None) or ""
        lines += [f"{file}:{line} in {name}" for file, line, name in _FRAME.findall(remote)]
    return lines


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)

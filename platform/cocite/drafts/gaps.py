"""The marks of a missing citation, which every reader of drafts and the endpoint know: ``[CIT]``, ``\\cite{?}``.

The web page marks the same gaps in its text field: ``static/gaps.js`` has the same expression, and a test holds them
equal. So the expression uses only what Python and JavaScript read alike, and each of its repetitions is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_MISSING = r"\?{1,9}|cite?|todo|tbd|missing|xxx"
"""What stands in the place of a key that is still to be found."""
TODO_WORDS = "cit(?:e|ation|ations|es|ing)?|refs?|references?"
"""Of a ``\\todo`` that asks for a citation."""
_SPACE = r"[ \t\r\n\xa0]"
_NOTES = r"(?:\[[^\[\]{}]{0,200}\]){0,2}"
_MISSING_KEYS = (
    rf"\{{(?:{_SPACE}{{0,9}}|(?:[^{{}},]{{0,200}},){{0,30}}{_SPACE}{{0,9}}(?:{_MISSING}){_SPACE}{{0,9}}"
    r"(?:,[^{},]{0,200}){0,30})\}"
)
GAP_PATTERN = (
    rf"\[{_SPACE}{{0,9}}CIT{_SPACE}{{0,9}}\]"
    r"|(?<![A-Za-z0-9_])TARGETCIT(?![A-Za-z0-9_])"
    rf"|\[{_SPACE}{{0,9}}@?\?{{1,9}}{_SPACE}{{0,9}}\]|\[@\]"
    rf"|[(\[]{_SPACE}{{0,9}}citations?{_SPACE}{{1,9}}needed{_SPACE}{{0,9}}[)\]]"
    rf"|\\(?!no)[a-z]{{0,12}}cites(?:\([^(){{}}]{{0,200}}\)){{0,2}}(?:{_NOTES}\{{[^{{}}]{{0,200}}\}}){{0,9}}?"
    rf"{_NOTES}{_MISSING_KEYS}(?:{_NOTES}\{{[^{{}}]{{0,200}}\}}){{0,9}}"
    rf"|\\(?!no|set)[a-z]{{0,12}}cite(?!style|titlefont)[a-z]{{0,12}}\*?{_NOTES}{_MISSING_KEYS}"
    r"|\\todo(?:\[[^\[\]{}]{0,200}\])?"
    rf"\{{(?=[^{{}}]{{0,200}}?(?<![A-Za-z0-9_])(?:{TODO_WORDS})(?![A-Za-z0-9_]))"
    r"[^{}]{0,200}\}"
)
"""A missing citation in plain text, in LaTeX and in Markdown; case does not matter. A command of LaTeX may cite keys
beside the missing one: ``\\cite{lee99,?}`` is one gap, and so is ``\\cites{lee99}{?}``."""
GAP = re.compile(GAP_PATTERN, re.IGNORECASE | re.ASCII)
CITING_PATTERN = (
    rf"\\(?!no)[a-z]{{0,12}}cites(?:\([^(){{}}]{{0,200}}\)){{0,2}}(?:{_NOTES}\{{[^{{}}]{{0,2000}}\}}){{1,9}}"
    rf"|\\(?!no|set)[a-z]{{0,12}}cite(?!style|titlefont)[a-z]{{0,12}}\*?{_NOTES}\{{[^{{}}]{{0,2000}}\}}"
)
"""A command of LaTeX that cites, whether keys are missing in it or not."""
_MISSING_KEY = re.compile(f"(?:{_MISSING})?", re.IGNORECASE | re.ASCII)
_COMMAND = re.compile(r"\\[a-z]*cite", re.IGNORECASE | re.ASCII)
_KEYS = re.compile(r"\{([^{}]*)\}")


def is_missing(key: str) -> bool:
    """Whether a citation's key says that the paper is still to be found.

    Example:
        >>> [is_missing(key) for key in ("", "?", "TODO", "lee99")]
        [True, True, True, False]
    """
    return bool(_MISSING_KEY.fullmatch(key.strip()))


def text_gaps(text: str) -> Iterator[re.Match[str]]:
    """The gaps that a text marks in any form: ``[CIT]``, ``[?]``, ``(citation needed)``, ``\\cite{?}``.

    Example:
        >>> [match.group() for match in text_gaps("A [?]. B (citation needed). C [12]. D \\\\cite{lee99,?}.")]
        ['[?]', '(citation needed)', '\\\\cite{lee99,?}']
    """
    return GAP.finditer(text)


def kept_keys(mark: str) -> tuple[str, ...]:
    """The keys that a gap cites beside the missing one: those of a command of LaTeX.

    Example:
        >>> kept_keys("\\\\citep[see][]{lee99, ?}"), kept_keys("[CIT]")
        (('lee99',), ())
    """
    if not _COMMAND.match(mark):
        return ()
    keys = (key.strip() for group in _KEYS.findall(mark) for key in group.split(","))
    return tuple(dict.fromkeys(key for key in keys if not is_missing(key)))


def filled_command(mark: str, keys: Sequence[str]) -> str:
    """A gap that is a command of LaTeX, with keys in place of the first missing one; ``\\todo`` becomes ``\\cite``.

    Example:
        >>> filled_command("\\\\citep[see][]{lee99, ?}", ["kim01"]), filled_command("\\\\todo{cite}", ["kim01"])
        ('\\\\citep[see][]{lee99, kim01}', '\\\\cite{kim01}')
    """
    if _COMMAND.match(mark):
        for group in _KEYS.finditer(mark):
            given = group[1].split(",")
            if lacks_key(given):
                return mark[: group.start(1)] + _with_keys(given, keys) + mark[group.end(1) :]
    return f"\\cite{{{','.join(keys)}}}"


def lacks_key(keys: Sequence[str]) -> bool:
    """Whether one of a citation's keys is missing; a comma too many is no gap.

    Example:
        >>> lacks_key(["lee99", "?"]), lacks_key(["lee99", ""]), lacks_key([""])
        (True, False, True)
    """
    missing = [key.strip() for key in keys if is_missing(key)]
    return any(missing) or len(missing) == len(keys)


def _with_keys(given: Sequence[str], keys: Sequence[str]) -> str:
    at = next(at for at, key in enumerate(given) if is_missing(key))
    before, after = (
        [key.strip() for key in part if not is_missing(key)] for part in (given[:at], given[at:])
    )
    spaced = len(given) > 1 and any(key.startswith(" ") for key in given)
    return (", " if spaced else ",").join(dict.fromkeys([*before, *keys, *after]))

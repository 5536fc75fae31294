"""The citation at a place of a draft: what is typed of its key, and what a chosen key replaces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from cocite.drafts.draft import Kind
from cocite.drafts.gaps import is_missing, text_gaps
from cocite.drafts.latex_source import ends_in_comment
from cocite.drafts.reading import SUFFIXES

LANGUAGES: dict[str, Kind] = {
    "latex": "latex", "tex": "latex", "plaintex": "latex", "context": "latex",
    "markdown": "markdown", "quarto": "markdown", "rmd": "markdown", "rmarkdown": "markdown", "pandoc": "markdown",
}  # fmt: skip
"""The kind of a draft by the language that the editor says it is in."""
MAX_TYPED = 100
"""Characters of what is typed of a key, or of a title in its place."""
_BACK = 2_000
"""Characters before the cursor in which a citation may begin."""
_COMMAND = re.compile(r"\\(?!citestyle|setcitestyle|citetitlefont)[A-Za-z]*[cC]ite[A-Za-z]*\*?")
_OPEN = re.compile(r"\s*(?:(?:\[[^\[\]]*\]|\([^()]*\)|\{[^{}]*\})\s*)*\{([^{}\\]*)")
_REST = re.compile(r"[^,{}\s%\\]*")
_CLOSE = re.compile(r"([^{}\\\n]*)\}")
_KEY = r"[\w?][\w:.#$%&+?<>~/-]*"
_AT = re.compile(r"(?<![\w\\])-?@(\{?)([^\[\]{};@\n]*)\Z")
_ONE_KEY = re.compile(f"(?:{_KEY})?")
_KEYS = re.compile(rf"(?<![\w\\])@\{{?({_KEY})")
_GROUP_END = re.compile(r"[^\[\]\n]*\]")
_PLAIN_KEY = re.compile(r"\w+(?:[:.#$%&+?<>~/-]\w+)*")


@dataclass(frozen=True, slots=True)
class Spot:
    """A key's place in a citation, or a gap.

    Attributes:
        start, end: characters that a chosen key replaces.
        typed: the words of a key, a title or a name before the cursor; "" for none.
        before, after: what is written around the key.
        outer_start, outer_end: characters of the whole citation.
        kept: keys of the papers that it cites already.

    Example:
        >>> spot = find_spot("As in \\\\cite{lee99, att} we", 22, "latex")
        >>> spot.typed, spot.kept, (spot.start, spot.end)
        ('att', ('lee99',), (19, 22))
    """

    start: int
    end: int
    typed: str
    before: str
    after: str
    outer_start: int
    outer_end: int
    kept: tuple[str, ...]


def kind_of(language: str | None, name: str) -> Kind | None:
    """The kind of a document, by its language, else by the end of its name; None: none that is completed.

    Example:
        >>> kind_of("quarto", "a.qmd"), kind_of("plaintext", "a.tex"), kind_of("python", "a.py")
        ('markdown', 'latex', None)
    """
    kind = LANGUAGES.get((language or "").lower()) or SUFFIXES.get(PurePosixPath(name).suffix.lower())
    return kind if kind in ("latex", "markdown") else None


def find_spot(text: str, at: int, kind: Kind) -> Spot | None:
    """The citation or gap at a place of a LaTeX or Markdown text; None: there is none."""
    return (_latex if kind == "latex" else _markdown)(text, at) or _gap(text, at, kind)


def written_key(key: str, spot: Spot, kind: Kind) -> str:
    """A key as the text has it there.

    Example:
        >>> spot = find_spot("[CIT]", 2, "markdown")
        >>> written_key("lee99", spot, "markdown"), written_key("a;b", spot, "markdown")
        ('[@lee99]', '[@{a;b}]')
    """
    if kind == "markdown" and not spot.after.startswith("}") and not _PLAIN_KEY.fullmatch(key):
        key = f"{{{key}}}"
    return f"{spot.before}{key}{spot.after}"


def _latex(text: str, at: int) -> Spot | None:
    first = max(0, at - _BACK)
    commands = list(_COMMAND.finditer(text, first, at))
    if not commands:
        return None
    outer = commands[-1].start()
    match = _OPEN.fullmatch(text, commands[-1].end(), at)
    line = text[text.rfind("\n", 0, outer) + 1 : outer]
    if match is None or re.search(r"\n\s*\n", match[1]) or ends_in_comment(line):
        return None
    *others, typed = match[1].split(",")
    typed = typed.lstrip()
    if len(typed) > MAX_TYPED or "\n" in typed:
        return None
    rest = _REST.match(text, at)
    end = rest.end() if rest else at
    close = _CLOSE.match(text, end)
    others += close[1].split(",") if close else []
    kept = tuple(key.strip() for key in others if not is_missing(key))
    start = at - len(typed)
    return Spot(start, end, _words(typed), "", "", outer, close.end() if close else end, kept)


def _markdown(text: str, at: int) -> Spot | None:
    first = max(0, text.rfind("\n\n", 0, at), at - _BACK)
    match = _AT.search(text, first, at)
    if match is None or len(match[2]) > MAX_TYPED:
        return None
    # The pattern cannot look before the part of the text that it searches.
    if match.start() and (text[match.start() - 1].isalnum() or text[match.start() - 1] in "_\\"):
        return None
    opened = text.rfind("[", first, match.start())
    in_group = opened >= 0 and "]" not in text[opened:at]
    if not in_group and not _ONE_KEY.fullmatch(match[2]):
        return None
    start = match.start(2)
    rest = re.compile(r"[\w:.#$%&+?<>~/-]*").match(text, at)
    end = rest.end() if rest else at
    close = "}" if match[1] and text[end : end + 1] == "}" else ""
    outer_start, outer_end = match.start(), end + len(close)
    if in_group:
        outer_start = opened
        closing = _GROUP_END.match(text, outer_end)
        outer_end = closing.end() if closing else outer_end
    around = f"{text[outer_start : match.start()]} {text[end:outer_end]}"
    kept = tuple(key for key in _KEYS.findall(around) if not is_missing(key))
    after = "}" if match[1] and not close else ""
    return Spot(start, end, _words(match[2]), "", after, outer_start, outer_end, kept)


def _gap(text: str, at: int, kind: Kind) -> Spot | None:
    begin = text.rfind("\n", 0, at) + 1
    begin = max(begin, at - MAX_TYPED)
    for match in text_gaps(text[begin : at + MAX_TYPED]):
        start, end = begin + match.start(), begin + match.end()
        # Within a command keys are completed, or nothing is.
        if start <= at <= end and not match[0].startswith("\\"):
            before, after = ("\\cite{", "}") if kind == "latex" else ("[@", "]")
            return Spot(start, end, "", before, after, start, end, ())
    return None


def _words(typed: str) -> str:
    return "" if is_missing(typed) else typed.strip()

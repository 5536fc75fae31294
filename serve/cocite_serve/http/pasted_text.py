"""Reads what people paste into one field: the gaps it marks, its title, and the prose within LaTeX.

The web page marks the same gaps in its text field: ``static/gaps.js`` has the same expression, and a test holds them
equal. So the expression uses only what Python and JavaScript read alike, and each of its repetitions is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MISSING = r"\?{1,9}|cite?|todo|tbd|missing|xxx"
"""What stands in the place of a key that is still to be found."""
GAP_PATTERN = (
    r"\[[ \t\r\n]*CIT[ \t\r\n]*\]"
    r"|(?<![A-Za-z0-9_])TARGETCIT(?![A-Za-z0-9_])"
    r"|\[@?\?{1,9}\]|\[@\]"
    r"|[(\[][ \t\r\n]{0,9}citations?[ \t\r\n]{1,9}needed[ \t\r\n]{0,9}[)\]]"
    r"|\\(?!no)[a-z]{0,12}cite[a-z]{0,12}\*?(?:\[[^\[\]{}]{0,200}\]){0,2}"
    rf"\{{(?:[ \t\r\n]{{0,9}}|(?:[^{{}},]{{0,200}},){{0,30}}[ \t\r\n]{{0,9}}(?:{_MISSING})[ \t\r\n]{{0,9}}"
    r"(?:,[^{},]{0,200}){0,30})\}"
    r"|\\todo(?:\[[^\[\]{}]{0,200}\])?"
    r"\{(?=[^{}]{0,200}?(?<![A-Za-z0-9_])(?:cit(?:e|ation|ations|es|ing)?|refs?|references?)(?![A-Za-z0-9_]))"
    r"[^{}]{0,200}\}"
)
"""A missing citation in plain text, in LaTeX and in Markdown; case does not matter. A command of LaTeX may cite keys
beside the missing one: ``\\cite{lee99,?}`` is one gap."""
GAP = re.compile(GAP_PATTERN, re.IGNORECASE | re.ASCII)
TITLE_CHARS = 250
"""A first line longer than this is no title."""
_ARGUMENT = r"\{((?:[^{}]|\{[^{}]*\}){0,2000})\}"
_LATEX = re.compile(r"\\(?:[a-zA-Z]{2,40}[*\[{]|begin|maketitle|cite)")
_TITLE = re.compile(rf"\\title(?:\[[^\[\]]{{0,200}}\])?{_ARGUMENT}")
_ABSTRACT = (r"\begin{abstract}", r"\end{abstract}")
_BEGIN = r"\begin{document}"
_COMMENT = re.compile(r"(?m)^[ \t]*%.*$")
_CITATION = re.compile(
    r"[ ~]{0,9}\\[a-zA-Z]{0,12}[cC]ite[a-zA-Z]{0,12}\*?(?:\[[^\[\]{}]{0,200}\]){0,2}\{[^{}]{0,2000}\}"
)
_UNPRINTED = re.compile(
    r"\\(?:begin|end|label|ref|eqref|autoref|cref|Cref|url|includegraphics|usepackage|documentclass|bibliography"
    r"|bibliographystyle|vspace|hspace|input|include)\*?(?:\[[^\[\]{}]{0,200}\])?\{[^{}]{0,2000}\}"
)
_HEADING = re.compile(rf"\\(?:part|chapter|(?:sub){{0,2}}section|(?:sub)?paragraph)\*?{_ARGUMENT}")
_COMMAND = re.compile(r"\\[a-zA-Z]{1,40}\*?(?:\[[^\[\]{}]{0,200}\])?[ \t]{0,9}")
_SYMBOL = re.compile(r"\\([%&$#_{}])")
GAP_MARK = "\ue000"
"""Stands for a gap in what is read: a character of the private use area, removed from what is pasted."""


@dataclass(frozen=True)
class PastedText:
    """A pasted text by its parts.

    Attributes:
        title: "" when there is none.
        abstract: what LaTeX marks as such; "" when it marks nothing.
        body: the prose behind the title, each gap as :data:`GAP_MARK`; the abstract is in it too where it has gaps.

    Example:
        >>> pasted = read_pasted("\\\\section{Data}\\nWe score with \\\\emph{BLEU}~\\\\cite{?}.")
        >>> pasted.title, pasted.body.replace(GAP_MARK, "(gap)")
        ('', 'Data.\\nWe score with BLEU (gap).')
    """

    title: str
    abstract: str
    body: str


def mark_gaps(text: str) -> str:
    """A text with each gap as :data:`GAP_MARK`.

    Example:
        >>> mark_gaps("We parse (citation needed).") == f"We parse {GAP_MARK}."
        True
    """
    return GAP.sub(GAP_MARK, text.replace(GAP_MARK, " "))


def read_pasted(text: str) -> PastedText:
    """Find the title, the abstract and the prose of a text; every gap of the text is in the body.

    The first line is the title when it looks like one. A line that begins with a command of LaTeX, such as
    ``\\section``, is none; ``\\title`` is.

    Example:
        >>> read_pasted("Neural parsing\\nWe parse.")
        PastedText(title='Neural parsing', abstract='', body='We parse.')
    """
    text = mark_gaps(text).strip()
    if _LATEX.search(text):
        return _read_latex(text)
    first, _, rest = text.partition("\n")
    first, rest = first.strip(), rest.strip()
    heading = re.match(r"(#{1,6})[ \t]+", first)
    if heading is not None:
        first = first[heading.end() :].strip("# \t")
        if len(heading[1]) > 1:
            return PastedText("", "", f"{first}.\n{rest}" if rest else first)
    if is_title(first, rest):
        return PastedText(first, "", rest)
    return PastedText("", "", text if heading is None else f"{first}.\n{rest}")


def is_title(first: str, rest: str) -> bool:
    """Whether the first line of a text looks like its title: short, without a gap, and not all of some prose."""
    ends = first.endswith((".", "?", "!"))
    return bool(first) and len(first) <= TITLE_CHARS and GAP_MARK not in first and (bool(rest) or not ends)


def _read_latex(text: str) -> PastedText:
    title = _TITLE.search(text)
    abstract = _between(text, *_ABSTRACT)
    _, begin, body = text.partition(_BEGIN)
    if not begin or body.count(GAP_MARK) < text.count(GAP_MARK):
        body = text  # a gap of the preamble is a gap too
    if title is not None and GAP_MARK not in title[0]:
        body = body.replace(title[0], " ")
        own_title = " ".join(strip_commands(title[1]).split())
    else:
        own_title = ""
    if abstract and GAP_MARK not in abstract:
        body = body.replace(abstract.join(_ABSTRACT), " ")
    begins_with_command = body.lstrip().startswith(("\\", "%"))
    body = strip_commands(body)
    first, _, rest = body.partition("\n")
    if title is None and not begins_with_command and is_title(first.strip(), rest.strip()):
        own_title, body = first.strip(), rest.strip()
    return PastedText(own_title, strip_commands(abstract.replace(GAP_MARK, "")), body)


def _between(text: str, begin: str, end: str) -> str:
    """What stands between the first ``begin`` and the ``end`` behind it; "" when one of them is not there."""
    _, _, rest = text.partition(begin)
    inner, found, _ = rest.partition(end)
    return inner if found else ""


def strip_commands(text: str) -> str:
    """The prose of LaTeX: without commands, citations and comments, each heading as a sentence.

    Example:
        >>> strip_commands("\\\\emph{Trees}~\\\\citep[see][]{lee99} grow by 5\\\\%.")
        'Trees grow by 5%.'
    """
    text = _without(_COMMENT, text)
    text = _HEADING.sub(lambda heading: f"{heading[1].strip().rstrip('.')}.\n", text)
    for pattern in (_CITATION, _UNPRINTED, _COMMAND):
        text = _without(pattern, text)
    text = _SYMBOL.sub(r"\1", text.replace("\\\\", " "))
    text = re.sub(r"(?<!\\)[{}]", "", text).replace("~", " ")
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return re.sub(r"\n{2,}", "\n", "\n".join(lines)).strip()


def _without(pattern: re.Pattern[str], text: str) -> str:
    """The text without what matches; a match with a gap in it stays."""
    return pattern.sub(lambda found: found[0] if GAP_MARK in found[0] else "", text)

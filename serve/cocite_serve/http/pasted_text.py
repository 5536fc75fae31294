"""Reads what people paste into one field: the gaps it marks, its title, and the prose within LaTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cocite.corpus.articles.headings import is_abstract_heading
from cocite.drafts.draft import Kind
from cocite.drafts.gaps import CITING_PATTERN, GAP

TITLE_CHARS = 250
"""A first line longer than this is no title."""
_ARGUMENT = r"\{((?:[^{}]|\{[^{}]*\}){0,2000})\}"
_LATEX = re.compile(r"\\(?:[a-zA-Z]{2,40}[*\[{]|begin|maketitle|cite)")
_TITLE = re.compile(rf"\\title(?:\[[^\[\]]{{0,200}}\])?{_ARGUMENT}")
_ABSTRACT = (r"\begin{abstract}", r"\end{abstract}")
_BEGIN = r"\begin{document}"
_COMMENT = re.compile(r"(?m)^[ \t]*%.*$")
_CITATION = re.compile(rf"[ ~]{{0,9}}(?:{CITING_PATTERN})", re.IGNORECASE | re.ASCII)
_UNPRINTED = re.compile(
    r"\\(?:begin|end|label|ref|eqref|autoref|cref|Cref|url|includegraphics|usepackage|documentclass|bibliography"
    r"|bibliographystyle|vspace|hspace|input|include|nocite"
    r"|citestyle|setcitestyle)\*?(?:\[[^\[\]{}]{0,200}\])?\{[^{}]{0,2000}\}"
)
_HEADING = re.compile(rf"\\(?:part|chapter|(?:sub){{0,2}}section|(?:sub)?paragraph)\*?{_ARGUMENT}")
_COMMAND = re.compile(r"\\[a-zA-Z]{1,40}\*?(?:\[[^\[\]{}]{0,200}\])?[ \t]{0,9}")
_SYMBOL = re.compile(r"\\([%&$#_{}])")
GAP_MARK = "\ue000"
"""Stands for a gap in what is read: a character of the private use area, removed from what is pasted."""
HEADING_MARK = "\ue001"
"""Stands before and behind each heading in what is read, likewise."""
_MARKS = str.maketrans(GAP_MARK + HEADING_MARK, "  ")
_MARKDOWN_HEADING = re.compile(r"(?m)^ {0,3}#{1,6}[ \t]+([^\n]*)$")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,50000}?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"(?m)^title:[ \t]{0,9}(\S[^\n]*)$")


@dataclass(frozen=True)
class PastedText:
    """A pasted text by its parts.

    Attributes:
        title: "" when there is none.
        abstract: what LaTeX marks as such, or stands below a heading *Abstract* of Markdown; "" when there is none.
        body: the prose behind the title, each gap as :data:`GAP_MARK`, each heading as a sentence between two of
            :data:`HEADING_MARK`; the abstract is in it too where it has gaps.

    Example:
        >>> pasted = read_pasted("\\\\section{Data}\\nWe score with \\\\emph{BLEU}~\\\\cite{?}.")
        >>> pasted.title, pasted.body.replace(GAP_MARK, "(gap)").replace(HEADING_MARK, "|")
        ('', '|Data.|\\nWe score with BLEU (gap).')
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
    return GAP.sub(GAP_MARK, text.translate(_MARKS))


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
    front = _FRONT_MATTER.match(text)
    named = _FRONT_TITLE.search(front[1]) if front else None
    if front and GAP_MARK not in front[0]:
        text = text[front.end() :].strip()
    first, _, rest = text.partition("\n")
    first, rest = first.strip(), rest.strip()
    heading = re.match(r"#{1,6}[ \t]+", first)
    bare = first[heading.end() :].strip("# \t") if heading else first
    own = "" if named is None else named[1].strip("\"' \t")
    is_first = named is None and first[:2] != "##" and is_title(bare, rest)
    title = bare if is_first else own if is_title(own, text) else ""
    body, abstract = _read_markdown(rest if is_first else text)
    return PastedText(title, abstract, body)


def _read_markdown(text: str) -> tuple[str, str]:
    """The prose of a text with its headings marked, and its abstract, which is left out of it unless it has gaps."""
    pieces = _MARKDOWN_HEADING.sub(lambda one: _marked(one[1]), text).split(HEADING_MARK)
    for at in range(1, len(pieces), 2):
        if is_abstract_heading(pieces[at]):
            abstract = pieces[at + 1].replace(GAP_MARK, " ").strip()
            if GAP_MARK not in pieces[at + 1]:
                del pieces[at : at + 2]
            return HEADING_MARK.join(pieces).strip(), abstract
    return HEADING_MARK.join(pieces).strip(), ""


def _marked(heading: str) -> str:
    """A heading as a sentence between two marks."""
    return HEADING_MARK + heading.strip("# \t\n").rstrip(".") + "." + HEADING_MARK


def form_of(text: str) -> Kind:
    """The form that a pasted draft looks like.

    Example:
        >>> form_of("\\\\emph{Trees} grow."), form_of("## Trees\\nThey grow."), form_of("Trees grow.")
        ('latex', 'markdown', 'text')
    """
    if _LATEX.search(text):
        return "latex"
    return "markdown" if _MARKDOWN_HEADING.search(text) or "[@" in text else "text"


def is_title(first: str, rest: str) -> bool:
    """Whether the first line of a text looks like its title: short, without a gap, and not all of some prose."""
    ends = first.endswith((".", "?", "!"))
    has_marks = GAP_MARK in first or HEADING_MARK in first
    has_words = any(map(str.isalnum, first))
    return has_words and len(first) <= TITLE_CHARS and not has_marks and (bool(rest) or not ends)


def _read_latex(text: str) -> PastedText:
    title = _TITLE.search(text)
    abstract = _between(text, *_ABSTRACT)
    _, begin, body = text.partition(_BEGIN)
    if not begin or body.count(GAP_MARK) < text.count(GAP_MARK):
        body = text  # a gap of the preamble is a gap too
    if title is not None and GAP_MARK not in title[0]:
        body = body.replace(title[0], " ")
        own_title = " ".join(strip_commands(title[1]).replace(HEADING_MARK, "").split())
    else:
        own_title = ""
    if abstract and GAP_MARK not in abstract:
        body = body.replace(abstract.join(_ABSTRACT), " ")
    begins_with_command = body.lstrip().startswith(("\\", "%"))
    body = strip_commands(body)
    first, _, rest = body.partition("\n")
    if title is None and not begins_with_command and is_title(first.strip(), rest.strip()):
        own_title, body = first.strip(), rest.strip()
    own_abstract = strip_commands(abstract.replace(GAP_MARK, "")).replace(HEADING_MARK, "")
    return PastedText(own_title, own_abstract, body)


def _between(text: str, begin: str, end: str) -> str:
    """What stands between the first ``begin`` and the ``end`` behind it; "" when one of them is not there."""
    _, _, rest = text.partition(begin)
    inner, found, _ = rest.partition(end)
    return inner if found else ""


def strip_commands(text: str) -> str:
    """The prose of LaTeX: without commands, citations and comments, each heading as a sentence between two marks.

    Example:
        >>> strip_commands("\\\\emph{Trees}~\\\\citep[see][]{lee99} grow by 5\\\\%.")
        'Trees grow by 5%.'
    """
    text = _without(_COMMENT, text)
    text = _HEADING.sub(lambda heading: f"{_marked(heading[1])}\n", text)
    for pattern in (_CITATION, _UNPRINTED, _COMMAND):
        text = _without(pattern, text)
    text = _SYMBOL.sub(r"\1", text.replace("\\\\", " "))
    text = re.sub(r"(?<!\\)[{}]", "", text).replace("~", " ")
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return re.sub(r"\n{2,}", "\n", "\n".join(lines)).strip()


def _without(pattern: re.Pattern[str], text: str) -> str:
    """The text without what matches; a match with a gap in it stays."""
    return pattern.sub(lambda found: found[0] if GAP_MARK in found[0] else "", text)

r"""Text of records to LaTeX and back, by pylatexenc; math (``$n^2$``) is the same on both sides.

Accents and other scripts stay Unicode, which LaTeX reads. For any text in NFC, ``from_latex(to_latex(text))`` is the
text with single spaces.
"""

from __future__ import annotations

import logging
import re
from functools import cache
from typing import Any

from pylatexenc.latex2text import (
    LatexNodes2Text,
    MacroTextSpec,
    SpecialsTextSpec,
    get_default_latex_context_db,
)
from pylatexenc.latexencode import (
    RULE_DICT,
    RULE_REGEX,
    UnicodeToLatexConversionRule,
    UnicodeToLatexEncoder,
    get_builtin_uni2latex_dict,
)
from pylatexenc.latexwalker import LatexWalker
from pylatexenc.latexwalker import get_default_latex_context_db as get_default_parsing_db
from pylatexenc.macrospec import MacroSpec

_CHARACTER = r"(?:[^$\\{}%]|\\[^()\[\]])"
_GROUP = rf"\{{(?:{_CHARACTER}|\{{(?:{_CHARACTER}|\{{{_CHARACTER}*\}})*\}})*\}}"
_FORMULA = rf"(?:{_CHARACTER}|{_GROUP})+?"
MATH = re.compile(rf"(?<![\\$])\$(?=[^\s$]){_FORMULA}(?<!\s)\$(?![\d$])|\\\({_FORMULA}\\\)")
"""Math in a text. As in Pandoc, no space follows the first dollar or precedes the last, and no digit follows that:
``$5 and $6`` are prices. Braces are balanced, or the BibTeX entry around it would end elsewhere."""

_PLAIN = re.compile(r"(?:[^\\{}$~%`'!?-]|-(?!-)|`(?!`)|'(?!')|[!?](?!`))*")
"""Text that LaTeX leaves as it is."""
_UNESCAPED = re.compile(r"((?<!\\)(?:\\\\)*)([%$])")
_MASK = "\ufffe"
"""Stands for math while the rest is read; no character of any text."""
_EMPTY_ACCENT = re.compile(r"\\([\^~])\{\}")
_EMPTY_ACCENTS = {"^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
_NO_BRACES = str.maketrans("", "", "{}")
_SYMBOLS = {
    "textless": "<", "textgreater": ">", "textbar": "|", "textbraceleft": "{", "textbraceright": "}",
    "textquotedbl": '"', "textunderscore": "_", "textasciicircum": "^", "copyright": "©", "pounds": "£", "S": "",
    "P": "¶", "-": "", ",": " ", "url": "%s", "href": "%(2)s", "LaTeX": "LaTeX", "TeX": "TeX", "BibTeX": "BibTeX",
}  # fmt: skip
"""What pylatexenc leaves out or writes in another way."""
_DECLARATIONS = frozenset(
    """rm sf tt sc sl bf it em rmfamily sffamily ttfamily mdseries bfseries upshape itshape slshape scshape normalfont
    tiny scriptsize footnotesize small normalsize large Large relax protect noindent newblock allowbreak nobreak xspace
    boldmath unboldmath displaystyle textstyle newline linebreak null par unskip ignorespaces selectfont""".split()
)
"""Macros that change how text looks and stand for no text themselves."""


def to_latex(text: str) -> str:
    """LaTeX that prints a text; its math is left as it is, and no ligature forms (``--`` stays two hyphens)."""
    return str(_encoder(_is_balanced(text)).unicode_to_latex(" ".join(text.split())))


def from_latex(latex: str) -> str:
    """The text that LaTeX prints, with single spaces.

    Math stays LaTeX. A percent sign or a lone dollar that is not escaped is one: a bibliography has no comments, and
    ``50%`` or ``$5`` is meant. A macro that is not known stands for its arguments, or else for its name.
    """
    latex = _EMPTY_ACCENT.sub(lambda m: _EMPTY_ACCENTS[m[1]], " ".join(latex.split()))
    if _PLAIN.fullmatch(latex):
        return latex
    bare = latex.translate(_NO_BRACES)
    if "\\" not in latex and _PLAIN.fullmatch(bare):
        return " ".join(bare.split())
    # The library's parser would read on where a macro at the end of math takes an argument.
    math = MATH.findall(latex)
    masked = MATH.sub(_MASK, latex.replace(_MASK, ""))
    paired = sum(match[2] == "$" for match in _UNESCAPED.finditer(masked)) % 2 == 0
    escaped = _UNESCAPED.sub(lambda m: m[0] if m[2] == "$" and paired else f"{m[1]}\\{m[2]}", masked)
    decoder, parsing = _decoder()
    try:
        text = decoder.nodelist_to_text(LatexWalker(escaped, latex_context=parsing).get_latex_nodes()[0])
    except Exception:
        # The library fails in several ways where macros lack their arguments.
        return " ".join(bare.split())
    parts = iter(math)
    return re.sub(_MASK, lambda _: next(parts), " ".join(text.split()))


def _is_balanced(text: str) -> bool:
    depth = 0
    for brace in re.findall("[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            break
    return depth == 0


@cache
def _encoder(balanced: bool) -> UnicodeToLatexEncoder:
    table = {code: latex for code, latex in get_builtin_uni2latex_dict().items() if code < 128}
    del table[ord('"')]  # the library writes two apostrophes, which print as closing quotes
    if not balanced:
        # BibTeX counts an escaped brace as a brace.
        table |= {ord("{"): r"\textbraceleft", ord("}"): r"\textbraceright"}
    ligatures = [(re.compile(pattern), r"\g<0>{}") for pattern in ("-(?=-)", "`(?=`)", "'(?=')", "[!?](?=`)")]
    rules = [
        UnicodeToLatexConversionRule(RULE_REGEX, [(MATH, r"\g<0>"), *ligatures]),
        UnicodeToLatexConversionRule(RULE_DICT, table),
    ]
    return UnicodeToLatexEncoder(
        conversion_rules=rules, unknown_char_policy="keep", unknown_char_warning=False
    )


@cache
def _decoder() -> tuple[LatexNodes2Text, Any]:
    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # broken LaTeX is read as far as it goes
    printing, parsing = get_default_latex_context_db(), get_default_parsing_db()
    parsing.add_context_category("bibliographies", prepend=True, macros=[MacroSpec("href", "{{")])
    printing.add_context_category(
        "bibliographies",
        prepend=True,
        macros=[MacroTextSpec(name, simplify_repl=text) for name, text in _SYMBOLS.items()],
        specials=[SpecialsTextSpec("&", "&")],
    )
    printing.set_unknown_macro_spec(MacroTextSpec("", simplify_repl=_unknown_macro))
    return LatexNodes2Text(math_mode="verbatim", latex_context=printing), parsing


def _unknown_macro(node: Any, l2tobj: LatexNodes2Text) -> str:
    """Its arguments as text; without any, its name, unless that stands for no text."""
    arguments = node.nodeargd.argnlist if node.nodeargd else ()
    if any(argument is not None for argument in arguments):
        return "".join(l2tobj.node_arg_to_text(node, i) for i, a in enumerate(arguments) if a is not None)
    name, end = str(node.macroname), node.pos + node.len
    is_silent = not name.isalpha() or name in _DECLARATIONS or node.parsing_state.s[end : end + 1] == "{"
    return "" if is_silent else name + str(node.macro_post_space)

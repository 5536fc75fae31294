"""What is known of LaTeX's macros and environments: which hold prose, which print nothing, and their arguments."""

from __future__ import annotations

HEAD = frozenset(
    {"title", "icmltitle", "author", "date", "abstract", "Abstract", "bibliography", "addbibresource"}
)
"""Macros of the preamble that say something of the draft."""
SECTIONS = {"part": 1, "chapter": 1, "section": 1, "subsection": 2, "subsubsection": 3}
"""Macro -> level of the heading."""
INPUTS = frozenset({"input", "include", "subfile"})
"""Macros whose argument is a file."""
IMPORTS = frozenset({"import", "subimport", "includefrom", "subincludefrom"})
"""Macros whose arguments are a folder and a file in it."""
ASKING = frozenset({"citationneeded", "citeneeded", "needcite", "needscite", "citeme", "missingcite"})
"""Macros that mark a gap."""
NO_GAPS = frozenset(
    """citestyle setcitestyle citetitlefont citereset citetext citesetup citetrackertrue citetrackerfalse citeindextrue
    citeindexfalse""".split()
)
"""Macros that have *cite* in their names and cite nothing."""
UNPRINTED = frozenset(
    """label pagestyle thispagestyle vspace hspace includegraphics bibliographystyle usepackage documentclass
    setlength hypersetup graphicspath hyphenation affil institute keywords nocite maketitle date
    newline marginpar ref eqref autoref cref Cref captionof citestyle setcitestyle citereset newtheorem
    acks addcontentsline addtocounter appendix backmatter balance bfseries bibname bigskip centering cleardoublepage
    clearpage doublespacing endinput enlargethispage FloatBarrier flushbottom flushleft flushright footnotesize
    frontmatter glsaddall hfill Huge huge IEEEdisplaynontitleabstractindextext IEEEpeerreviewmaketitle itshape Large
    LARGE large linebreak linenumbers lipsum listoffigures listoftables listoftodos mainmatter markboth markright
    medskip newcounter newpage nobreak nolinenumbers nopagebreak normalfont normalsize null numberwithin onecolumn
    onehalfspacing pagebreak pagenumbering pdfbookmark phantomsection printbibliography printglossaries printglossary
    printindex protect raggedbottom raggedleft raggedright RaggedRight relax rmfamily rule scriptsize scshape
    selectlanguage setcounter setstretch sffamily singlespacing sloppy small smallskip tableofcontents theendnotes tiny
    ttfamily vfill""".split()
)
"""Macros that print nothing, nor do their arguments."""
LAST_ALONE = frozenset({"href", "textcolor", "colorbox"})
"""Macros of whose arguments the last is prose."""
ACCENTS = frozenset("c v u H k r b d t".split())
"""Macros of letters that are accents."""
SKIPPED = frozenset({"tikzpicture", "verbatim", "lstlisting", "comment"})
"""Environments that hold no prose."""
MATH = frozenset(
    name + star
    for name in ("equation", "align", "gather", "multline", "eqnarray", "displaymath", "math", "alignat")
    for star in ("", "*")
)
"""Environments of formulas."""
APART = frozenset("figure table figure* table* itemize enumerate description quote theorem proof".split())
"""Environments whose text is no part of the paragraph around them."""
ARGUMENTS = {
    "title": "[{", "icmltitle": "{", "author": "[{", "date": "{", "abstract": "{", "todo": "[{", "input": "{",
    "include": "{", "subfile": "{", "import": "{{", "subimport": "{{", "includefrom": "{{", "subincludefrom": "{{",
    "href": "{{", "textcolor": "[{{", "colorbox": "{{", "footnote": "[{", "thanks": "{", "caption": "[{",
    "bibliography": "{", "addbibresource": "[{", "twocolumn": "[", "item": "[", "ref": "{", "eqref": "{",
    "autoref": "{", "cref": "{", "Cref": "{", "label": "{", "url": "{", "part": "*[{", "chapter": "*[{",
    "section": "*[{", "subsection": "*[{", "subsubsection": "*[{", "paragraph": "*[{", "subparagraph": "*[{",
    "bibliographystyle": "{", "includegraphics": "[{", "vspace": "*{", "hspace": "*{", "usepackage": "[{",
    "documentclass": "[{", "setlength": "{{", "hypersetup": "{", "graphicspath": "{", "pagestyle": "{",
    "thispagestyle": "{", "footnotetext": "[{", "marginpar": "{", "hyphenation": "{", "affil": "[{",
    "institute": "{", "keywords": "{", "captionof": "{{", "addcontentsline": "{{{", "addtocounter": "{{",
    "enlargethispage": "*{", "lipsum": "[", "markboth": "{{", "markright": "{", "newcounter": "{",
    "newtheorem": "*{[{[", "numberwithin": "{{", "pagenumbering": "{", "pdfbookmark": "[{{", "printbibliography": "[",
    "rule": "[{{", "bibitem": "[{", "selectlanguage": "{", "setcounter": "{{", "setstretch": "{",
    "citetext": "{", "Abstract": "{",
}  # fmt: skip
"""Macros whose arguments the parser has to know, in pylatexenc's notation."""

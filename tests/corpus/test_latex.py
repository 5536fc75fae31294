"""Text to LaTeX and back."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cocite.corpus.latex import from_latex, to_latex


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("An $n^2$ algorithm for $O(n \\log_2 n)$", "An $n^2$ algorithm for $O(n \\log_2 n)$"),
        (r"\(n^{2}\) and H$_2$O", r"\(n^{2}\) and H$_2$O"),
        ("from $5 to $6, US$7", r"from \$5 to \$6, US\$7"),
        ("50% & #1 a_b {c}", r"50\% \& \#1 a\_b \{c\}"),
        ("Gödel, 中文, Łódź, αβγ, עברית", "Gödel, 中文, Łódź, αβγ, עברית"),
        ("a } b { c", r"a {\textbraceright} b {\textbraceleft} c"),
        ("x -- y ``z''", "x -{}- y `{}`z'{}'"),
    ],
)
def test_to_latex_and_back(text: str, latex: str) -> None:
    assert to_latex(text) == latex
    assert from_latex(latex) == text


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"{\"O}zg{\"u}r \'Etude {\'\i} \v{c} {\o} Stra{\ss}e Erd{\H o}s", "Özgür Étude í č ø Straße Erdős"),
        (r"{BERT}: {P}re-training \emph{of} \textbf{deep} {\em nets}", "BERT: Pre-training of deep nets"),
        (r"\texttt{word2vec} and \mbox{x-y} \LaTeX{} \LaTeX\ \TeX", "word2vec and x-y LaTeX LaTeX TeX"),
        ("a~b--c ``d'' AT&T 50% C# $5 on \\'e", "a b–c “d” AT&T 50% C# $5 on é"),
        (r"$x$ costs $5 \& \$6", "$x$ costs $5 & $6"),
        (r"$ n $ words, $\'a$", r"$ n $ words, $\'a$"),
        (
            r"\sysname: \unknown{kept} \href{http://a.b/c_d%20e}{text} \url{http://a.b}",
            "sysname: kept text http://a.b",
        ),
        (r"10.1002/a\textless1::2\textgreater{}3 \^{}x \~{}y", "10.1002/a<1::2>3 ^x ~y"),
        (r"\href", r"\href"),
    ],
)
def test_latex_of_others(latex: str, text: str) -> None:
    assert from_latex(latex) == text


@settings(max_examples=500)
@given(
    st.text(st.sampled_from("ab1 \\{}$%&#~^_<>-`'!?()\"é中@,."))
    | st.text(st.characters(exclude_categories=["C"]))
)
@example("$\\($<")
@example("$\\.$<")
def test_any_text_comes_back(text: str) -> None:
    text = unicodedata.normalize("NFC", text)  # as the store holds it
    assert from_latex(to_latex(text)) == " ".join(text.split())


PIECES = r"\href \url \emph \verb| { } $ \( \) \[ % & \' \v a \begin{a} \end \frac [ ~ \\ \input{x}".split()


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=9))
def test_broken_latex_is_no_error(pieces: list[str]) -> None:
    assert isinstance(from_latex("".join(pieces)), str)

"""Marks of a missing citation, and texts that look like one and are none."""

from __future__ import annotations

GAPS = [
    "[CIT]", "[cit]", "[ CIT ]", "TARGETCIT", "[?]", "[??]", "[ ? ]", "[@?]", "[@]", "(citation needed)",
    "[Citations needed]", "(citation\xa0needed)", "[Citation\n needed]",
    r"\cite{}", r"\cite{?}", r"\cite{ }", r"\citep{?}", r"\citet*{}", r"\citep[see][p.~3]{?}", r"\parencite{}",
    r"\cite{lee99,?}", r"\cite{?, lee99}", r"\citep[see][]{lee99, ?? ,kim2001}", r"\cite{lee99,TODO,?}",
    r"\cites{?}{lee99}", r"\parencites(see)()[1]{lee99}[2][3]{kim2001,?}", r"\textcites{lee99}{}", r"\Autocites{?}",
    r"\cite{TODO}", r"\todo{cite}", r"\todo[inline]{add a citation here}", r"\todo{which reference?}",
]  # fmt: skip
NO_GAPS = [
    r"\cite{lee99,}", r"\cite{lee99,,kim2001}", r"\cite{lee?}", r"\cite{lee99,kim?}", r"\nocite{lee99,?}",
    r"\cite{lee99}", r"\citep[see][]{lee99, kim2001}", r"\nocite{}", r"\todo{rewrite}", r"\todo{excited}", "[12]",
    r"\cites{lee99}{kim2001}", r"\citestyle{}", r"\setcitestyle{}", r"\cites(see)(){lee99}",
    "[@lee99]", "CIT", "(CIT)", "(needed)", "[]", "XTARGETCITX", r"\section{CIT}", "[?", "?]",
]  # fmt: skip

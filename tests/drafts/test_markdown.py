"""Drafts in Markdown."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.drafts.reading import read_text
from cocite.errors import InputError

DRAFT = """---
title: Parsing of long sentences
abstract: |
  We parse long
  sentences.
author:
  - name: Ann Lee
    affiliation: Some University
  - Bo Kim
date: 2018-05-01
bibliography: [refs.bib, more.bib]
---

# Introduction

See [@lee99, p. 3; @?] and @kim01. `[CIT]` is code; me@x.org is none. **Bold [?]** text [@todo].

```
[CIT] in a block
```

> quoted [citation
> needed] here

| a | b |
|---|---|
| x [CIT] | y [?] |

Noted[^1]. <!-- [CIT] -->

[^1]: A note [CIT].
"""


def test_a_draft() -> None:
    draft = read_text(DRAFT, "markdown")
    assert (draft.title, draft.abstract, draft.year) == (
        "Parsing of long sentences",
        "We parse long sentences.",
        2018,
    )
    assert draft.authors == ("Ann Lee", "Bo Kim")
    assert draft.bibliographies == ("refs.bib", "more.bib")
    assert [section.title for section in draft.sections] == ["Introduction"]
    assert [citation.key for citation in draft.citations] == ["lee99", "kim01"]
    assert [(DRAFT[gap.place.start : gap.place.end], gap.form) for gap in draft.gaps] == [
        ("@?", "keys"),
        ("[?]", "whole"),
        ("@todo", "keys"),
        ("[citation\n> needed]", "whole"),
        ("[CIT]", "whole"),
        ("[?]", "whole"),
        ("[CIT]", "whole"),
    ]
    assert draft.gaps[-1].context == "A note TARGETCIT."


def test_without_front_matter_a_heading_is_the_title() -> None:
    draft = read_text("# Parsing\n\n## Abstract\n\nShort [CIT].\n\n## Data\n\nTrees.", "markdown")
    assert (draft.title, draft.abstract) == ("Parsing", "Short .")
    assert [(section.title, section.level) for section in draft.sections] == [("Data", 2)]


def test_a_front_matter_that_is_no_yaml_is_left_out_with_a_warning() -> None:
    draft = read_text("---\na: [b\n---\n\nText [CIT].", "markdown")
    assert draft.warnings == ("the front matter is no YAML; it is left out",)
    assert len(draft.gaps) == 1


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (
            r"\cite{lee, kim} and \citep[see @x][]{ott}, not `\cite{code}` nor \citestyle{apa}.",
            ["lee", "kim", "ott"],
        ),
        (r"\parencites{lee}[2]{kim} {parse}.", ["lee", "kim"]),
        ("[see @a-b, pp. 1--2; also -@{odd key}]", ["a-b", "odd key"]),
        ("@lee99: yes, @lee99.", ["lee99", "lee99"]),
        (r"\@none and mail@host and `@code`", []),
    ],
)
def test_citations(text: str, keys: list[str]) -> None:
    assert [citation.key for citation in read_text(text, "markdown").citations] == keys


@pytest.mark.parametrize("hostile", ["`" * 300_000, "[" * 300_000, "> " * 100_000 + "x", "@" * 90_000 + " x"])
def test_hostile_text_is_answered_or_refused_soon(hostile: str) -> None:
    begin = time.process_time()
    try:
        read_text(hostile, "markdown")
    except InputError as error:
        refusal = str(error)
        assert "paragraph" in refusal or "no text" in refusal
    assert time.process_time() - begin < 20


def test_too_many_lines_are_refused() -> None:
    with pytest.raises(InputError, match="the draft has more than 50,000 lines"):
        read_text("- a\n" * 50_001, "markdown")


WORDS = st.lists(
    st.sampled_from(["parsing", "*helps*", "Trees.", "[@lee99]", "`x`", "\n\n", "\n\n- "]), max_size=8
)


@given(st.lists(st.tuples(WORDS, st.sampled_from(["[CIT]", "[?]", "[@?]"])), max_size=12))
def test_the_gaps_found_are_those_put_in(parts: list[tuple[list[str], str]]) -> None:
    text, expected = "Words of a draft.", []
    for words, gap in parts:
        text += " " + " ".join(words) + " so "
        inner = gap.strip("[]") if "@" in gap else gap
        expected.append((len(text) + gap.index(inner), inner))
        text += gap
    draft = read_text(text, "markdown")
    assert [(gap.place.start, text[gap.place.start : gap.place.end]) for gap in draft.gaps] == expected
    assert len(draft.citations) == text.count("@lee99")


def test_code_of_r_in_the_front_matter_is_nothing_and_the_rest_is_read() -> None:
    code = "params:\n  run: !r identical(Sys.getenv('CI'), '')\ndate: !expr Sys.Date()\n"
    front = f"---\ntitle: Parsing\n{code}bibliography: refs.bib\n---\n"
    draft = read_text(front + "We parse @lee.", "markdown")
    assert (draft.title, draft.bibliographies, draft.year, draft.warnings) == (
        "Parsing",
        ("refs.bib",),
        None,
        (),
    )


@pytest.mark.parametrize(
    ("text", "keys", "printed"),
    [
        ("As {cite}`lee` says.", ["lee"], "As [OTHERCIT] says."),
        ("It helps {cite:p}`lee,kim, ott`.", ["lee", "kim", "ott"], "It helps [OTHERCIT]."),
        ("A `{cite}` is code, as is {math}`x`.", [], "A {cite} is code, as is {math}x."),
    ],
)
def test_the_roles_of_myst_cite(text: str, keys: list[str], printed: str) -> None:
    draft = read_text(text, "markdown")
    assert [one.key for one in draft.citations] == keys
    assert [one.text for one in draft.sentences] == [printed]
    if keys:
        assert draft.citations[0].place.start == text.index("{")
        assert text[draft.citations[0].place.end - 1] == "`"

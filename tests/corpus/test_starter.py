from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from cocite.corpus.records import ARXIV_DOI, ContextRecord, PaperRecord
from cocite.corpus.splits import Split
from cocite.corpus.starter import PAPERS, build_starter, records
from cocite.corpus.starter.drafts import StarterDraft, starter_drafts
from cocite.drafts.draft import Draft
from cocite.drafts.reading import read_draft

RUN = 6
"""Words in a row that no draft may share with a context: otherwise the drafts would try nothing."""


def test_the_starter_corpus_is_sound(tmp_path: Path) -> None:
    corpus = build_starter(tmp_path / "starter")
    assert len(corpus) >= 200
    assert {name: n for name, n in corpus.counts["rules"].items() if n and name != "next_year_citation"} == {}
    papers = [r for r in records() if isinstance(r, PaperRecord)]
    assert len(papers) == len(corpus)
    assert all(p.year and p.venue and p.authors and len(p.abstract) > 80 for p in papers)
    assert sum(len(p.citations) for p in papers) == len(corpus.cites.indices)
    split = Split.of(corpus)
    cites = corpus.cites.degrees > 0
    assert min((mask & cites).sum() for mask in (split.train, split.dev, split.test)) >= 30
    assert min((mask[corpus.context_citing]).sum() for mask in (split.train, split.dev, split.test)) >= 100


@cache
def papers() -> dict[str, PaperRecord]:
    return {record.id: record for record in records() if isinstance(record, PaperRecord)}


@cache
def contexts() -> list[ContextRecord]:
    return [record for record in records() if isinstance(record, ContextRecord)]


def test_each_identifier_is_a_doi_and_names_one_paper() -> None:
    dois = [paper.doi for paper in papers().values() if paper.doi]
    assert len(dois) == len({doi.lower() for doi in dois})
    strange = [doi for doi in dois if not re.fullmatch(r"10\.\d{4,9}/[\w./:()-]*\w", doi)]
    assert strange == []
    preprints = [doi for doi in dois if doi.startswith(ARXIV_DOI)]
    assert all(re.fullmatch(r"\d{4}\.\d{4,5}", doi.removeprefix(ARXIV_DOI)) for doi in preprints)
    readme = PAPERS.with_name("README.md").read_text(encoding="utf-8")
    assert f"{len(dois)} papers have a `doi`: {len(dois) - len(preprints)} that" in readme
    assert f"{len(preprints)} the one that arXiv gave" in readme


def test_each_context_is_of_a_link_to_a_paper_that_is_not_later() -> None:
    for context in contexts():
        [cited] = context.cited
        assert cited in papers()[context.citing].citations, context.text
        assert papers()[cited].year <= papers()[context.citing].year, context.text


def test_each_context_is_one_short_sentence_with_one_gap_and_stands_once() -> None:
    for context in contexts():
        assert len(words(context.text)) >= 10, context.text
        assert 12 <= len(context.text.replace("TARGETCIT", "").replace("[CIT]", "").split()) <= 35, (
            context.text
        )
        assert len(re.findall(r"\[CIT\]|TARGETCIT", context.text)) == 1, context.text
    assert max(Counter(tuple(words(context.text)) for context in contexts()).values()) == 1
    assert max(Counter((context.citing, context.cited) for context in contexts()).values()) == 1


def test_the_papers_that_are_cited_most_have_contexts() -> None:
    counts = Counter(context.cited[0] for context in contexts())
    most_cited = Counter(cited for paper in papers().values() for cited in paper.citations).most_common(120)
    assert min(counts[paper] for paper, _ in most_cited) >= 2
    assert max(counts.values()) <= 8


@pytest.mark.parametrize("draft", starter_drafts(), ids=lambda draft: draft.path.name)
def test_a_draft_has_an_expected_paper_for_each_gap(draft: StarterDraft) -> None:
    read = read_draft(draft.path)
    assert read.title
    assert 3 <= len(read.gaps) == len(draft.expected) == len(set(draft.expected)) <= 5
    assert set(draft.expected) <= set(papers())
    assert read.warnings == ()


def test_the_drafts_are_of_three_forms() -> None:
    assert [read_draft(draft.path).kind for draft in starter_drafts()] == ["latex", "markdown", "text"]


@pytest.mark.parametrize("draft", starter_drafts(), ids=lambda draft: draft.path.name)
def test_no_draft_repeats_the_words_of_a_context(draft: StarterDraft) -> None:
    known = {run for context in contexts() for run in runs(context.text)}
    read = read_draft(draft.path)
    assert {run for text in texts(read) for run in runs(text)}.isdisjoint(known)


def texts(read: Draft) -> list[str]:
    return [read.title, read.abstract, *(sentence.text for sentence in read.sentences)]


def words(text: str) -> list[str]:
    """The words of a text in lower case, without its gap."""
    return re.findall(r"\w+", re.sub(r"\[CIT\]|TARGETCIT", " ", text).lower())


def runs(text: str) -> set[tuple[str, ...]]:
    """All runs of six words."""
    found = words(text)
    return {tuple(found[i : i + RUN]) for i in range(len(found) - RUN + 1)}

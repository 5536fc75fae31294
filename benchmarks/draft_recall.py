"""Recall of hidden citations through drafts, beside the local task's own queries, as a Markdown table.

    cocite index build CORPUS --to INDEX --before-split test
    python -m benchmarks.draft_recall CORPUS INDEX [--model MODEL] [--papers 200] [--form latex]

    cocite serve --index INDEX [--model MODEL] --port 8000 --set limits.draft_gaps=500
    python -m benchmarks.draft_recall CORPUS INDEX [--model MODEL] --url http://127.0.0.1:8000

Drafts are made of the test papers' full texts: title, abstract, and body sentences under their headings. In a draft
either *all* of a paper's citations are gaps, or *one* is, and the others are citations with keys. A .bib file, which
cocite's own export writes, has an entry for each paper that the draft cites; the readers of drafts and of BibTeX read
both as any author's, and find the entries by DOI or title. An answer leaves out what its draft cites, so what the gap
hides is hidden everywhere in that draft. The local task asks with the corpus' own context of the same gap, and with
what the corpus knows of the citing paper. Candidates are all papers but that one. In the last row, the control of the
one before, the local task leaves out what the draft cites as well.

Without ``--url`` the library answers the drafts in this process. With it, ``POST /v1/draft`` of a running endpoint over
the same index and model does; the local task is asked in this process all the same.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import numpy as np
from numpy.typing import NDArray
from pylatexenc.latexencode import unicode_to_latex

from cocite.bootstrap import resampled_means
from cocite.corpus.bibtex import entries
from cocite.corpus.importers.bibtex import bibtex_papers
from cocite.corpus.splits import split_papers
from cocite.corpus.store import Corpus
from cocite.drafts.advice import Adviser
from cocite.drafts.bibliography import Bibliography
from cocite.drafts.draft import Draft, Kind
from cocite.drafts.reading import open_files
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.text.queries import CorpusQueries, context_queries

DEPTH = 10
PARAGRAPH = 6
"""Sentences of a paragraph."""
BLOCK = 64
"""Queries of the local task asked at a time."""
_LOST_LETTER = re.compile(r"\[\s*\?+\s*\]")
"""A letter in brackets that OCR did not read; it would be a gap."""
_MARK = re.compile(r"\[\[CIT:(\d+)\]\]")
_GAP: dict[Kind, str] = {"latex": r"\cite{?}", "markdown": "[CIT]"}
_HEAD: dict[Kind, str] = {
    "latex": "\\documentclass{{article}}\n\\title{{{title}}}\n\\author{{{authors}}}\n\\begin{{document}}\n"
    "\\begin{{abstract}}{abstract}\\end{{abstract}}\n",
    "markdown": "---\nauthor: {authors}\nbibliography: refs.bib\n---\n\n# {title}\n\n## Abstract\n\n{abstract}\n",
}
_SECTION: dict[Kind, str] = {"latex": r"\section{{{}}}", "markdown": "## {}"}
_FOOT: dict[Kind, str] = {"latex": "\\bibliography{refs}\n\\end{document}", "markdown": ""}
_FILE: dict[Kind, str] = {"latex": "draft.tex", "markdown": "draft.md"}
_BIB = "refs.bib"


@dataclass(frozen=True)
class Source:
    """A test paper's text, and what its citation groups cite.

    Attributes:
        row: of the paper.
        sentences: heading and text of each, with ``[[CIT:k]]`` for group k.
        cited: group -> rows of the papers that it cites; groups that cite none of the corpus are not there.
    """

    row: int
    title: str
    abstract: str
    authors: tuple[str, ...]
    sentences: list[tuple[str, str]]
    cited: dict[int, list[int]]

    @property
    def groups(self) -> list[int]:
        """The groups of :attr:`cited` in the order of their marks."""
        marks = (int(mark[1]) for _, text in self.sentences for mark in _MARK.finditer(text))
        return [group for group in marks if group in self.cited]


@dataclass(frozen=True)
class Answer:
    """What was recommended for a gap: ids, best first."""

    source: Source
    group: int
    ids: list[str]


def read_sources(corpus: Corpus, count: int, seed: int, split: str = "test") -> list[Source]:
    """Papers of a split that have body sentences and contexts, drawn with a seed."""
    citing, group = corpus.contexts.column("citing"), corpus.contexts.column("group")
    asked = np.flatnonzero(split_papers(corpus, split) & (np.diff(corpus.sentence_indptr) > 0))
    asked = np.intersect1d(asked, citing)
    rows = np.sort(np.random.default_rng(seed).choice(asked, min(count, len(asked)), replace=False))
    result = []
    for row in rows.tolist():
        at = np.flatnonzero(citing == row)
        lists = (corpus.context_cited[i].tolist() for i in at.tolist())
        cited = {int(group[i]): [one for one in of if one != row] for i, of in zip(at, lists, strict=True)}
        body = np.arange(*corpus.sentence_indptr[row : row + 2])
        sections = corpus.sentences.take("section", body)
        sentences = list(zip(sections, corpus.sentences.take("text", body), strict=True))
        paper = corpus.paper(row)
        cited = {number: of for number, of in cited.items() if of}
        result.append(Source(row, paper.title, paper.abstract or "", paper.authors, sentences, cited))
    return result


def escape_markdown(text: str) -> str:
    """The text as Markdown that means nothing else."""
    return re.sub(r"([\\`*_#<>@\[\]])", r"\\\1", text)


def cited_beside(source: Source, gap: int) -> tuple[int, ...]:
    """Rows of the papers that the draft of one gap cites, ascending: what the gap hides is none of them."""
    every = {row for cited in source.cited.values() for row in cited}
    return tuple(sorted(every - {*source.cited[gap]}))


def write_draft(source: Source, kind: Kind, *, gap: int | None = None) -> str:
    """The draft of a paper: all its citations are gaps, or that of one group is, and what it cites is hidden."""
    encode = unicode_to_latex if kind == "latex" else escape_markdown
    hidden = {*source.cited[gap]} if gap is not None else set()

    def citation(group: int) -> str:
        if group in source.cited and gap in (None, group):
            return _GAP[kind]
        cited = source.cited.get(group)
        keys = [f"unknown{group}"] if cited is None else [f"p{row}" for row in cited if row not in hidden]
        if not keys:
            return ""
        return (
            rf"\cite{{{','.join(keys)}}}" if kind == "latex" else f"[{'; '.join(f'@{key}' for key in keys)}]"
        )

    def sentence(text: str) -> str:
        pieces = _MARK.split(_LOST_LETTER.sub("[]", text))
        return "".join(citation(int(piece)) if i % 2 else encode(piece) for i, piece in enumerate(pieces))

    names = [encode(name) for name in source.authors]
    authors = r" \and ".join(names) if kind == "latex" else json.dumps(source.authors)
    lines = [
        _HEAD[kind].format(title=encode(source.title), abstract=encode(source.abstract), authors=authors)
    ]
    last = ""
    for count, (section, text) in enumerate(source.sentences):
        if section and section != last:
            lines.append("\n" + _SECTION[kind].format(encode(section)) + "\n")
            last = section
        elif count % PARAGRAPH == 0:
            lines.append("")
        lines.append(sentence(text))
    return "\n".join([*lines, _FOOT[kind]])


def write_bibliography(source: Source, corpus: Corpus) -> str:
    """The .bib file of a paper's drafts: an entry for each paper that it cites, by the key that the drafts use."""
    rows = sorted({row for cited in source.cited.values() for row in cited})
    return entries(corpus.papers_at(rows), [f"p{row}" for row in rows])


def open_written(text: str, bib: str, kind: Kind, corpus: Corpus) -> tuple[Draft, Bibliography]:
    """A draft and its .bib file as they are read from an author's folder."""
    opened = open_files({_FILE[kind]: text.encode(), _BIB: bib.encode()})
    found, missing = opened.bibliographies()
    if missing or opened.draft.warnings:
        raise SystemExit(f"the draft was not read whole: {missing} {opened.draft.warnings}")
    papers = (paper for _, data in found for paper in bibtex_papers(data))
    return opened.draft, Bibliography.of(papers, corpus)


class InProcess:
    """Answers drafts by the library."""

    def __init__(self, recommender: Recommender) -> None:
        self.recommender = recommender

    def __call__(self, source: Source, text: str, bib: str, kind: Kind) -> list[list[str]]:
        """The ids for each gap, best first."""
        options = Options(top_k=DEPTH, candidates="all", evidence=False, exclude=(source.row,))
        draft, bibliography = open_written(text, bib, kind, self.recommender.index.corpus)
        answers = Adviser(self.recommender, draft, bibliography).gaps(options)
        return [[paper.id for paper in answer.papers] for answer in answers]


class Endpoint:
    """Answers drafts by ``POST /v1/draft``."""

    def __init__(self, client: httpx.Client, corpus: Corpus) -> None:
        self.client, self.corpus = client, corpus

    def __call__(self, source: Source, text: str, bib: str, kind: Kind) -> list[list[str]]:
        """The ids for each gap, best first."""
        asked = {
            "files": [{"name": _FILE[kind], "text": text}],
            "bib": bib,
            "exclude": self.corpus.ids([source.row]),
            "top_k": DEPTH,
            "candidates": "all",
            "evidence": False,
            "together": 0,
        }
        answer = self.client.post("/v1/draft", json=asked)
        if answer.status_code != 200:
            raise SystemExit(f"POST /v1/draft: {answer.status_code}: {answer.text[:500]}")
        lines = [json.loads(line) for line in answer.text.splitlines()]
        gaps = sorted((line for line in lines if line["kind"] == "gap"), key=lambda line: int(line["gap"]))
        if refused := [line["problem"] for line in gaps if line["problem"] is not None]:
            raise SystemExit(f"POST /v1/draft: {len(refused)} gaps were refused: {refused[0]}")
        return [[paper["id"] for paper in (line["answer"] or {"papers": []})["papers"]] for line in gaps]


def ask_drafts(
    answer: Callable[[Source, str, str, Kind], list[list[str]]],
    corpus: Corpus,
    sources: list[Source],
    kind: Kind,
    *,
    each: int | None = None,
) -> list[Answer]:
    """The answers to drafts in which all citations are gaps; with ``each``, to so many drafts of one gap a paper."""
    result = []
    for source in sources:
        bib = write_bibliography(source, corpus)
        for gap in [None] if each is None else source.groups[:each]:
            groups = [group for group in source.groups if gap in (None, group)]
            found = answer(source, write_draft(source, kind, gap=gap), bib, kind)
            result += [Answer(source, group, ids) for group, ids in zip(groups, found, strict=True)]
    return result


def ask_local(recommender: Recommender, asked: list[Answer], *, without_cited: bool = False) -> list[Answer]:
    """The answers to the local task's queries of the same gaps.

    Args:
        recommender: answers them.
        asked: the gaps.
        without_cited: leave out what the draft of this one gap cites, as the answer to the draft does.
    """
    corpus = recommender.index.corpus
    citing, group = corpus.contexts.column("citing"), corpus.contexts.column("group")
    place = {pair: i for i, pair in enumerate(zip(citing.tolist(), group.tolist(), strict=True))}
    positions = np.array([place[one.source.row, one.group] for one in asked])
    queries = CorpusQueries(context_queries, corpus, positions)
    options = Options(top_k=DEPTH, candidates="all", evidence=False)
    result = []
    for begin in range(0, len(asked), BLOCK):
        block = [queries[i] for i in range(begin, min(begin + BLOCK, len(asked)))]
        if without_cited:
            block = [
                replace(query, exclude=(*query.exclude, *cited_beside(one.source, one.group)))
                for query, one in zip(block, asked[begin:], strict=False)
            ]
        found = recommender.recommend_all(block, options)
        result += [
            replace(one, ids=[paper.id for paper in papers])
            for one, papers in zip(asked[begin : begin + BLOCK], found, strict=True)
        ]
    return result


def recalls(corpus: Corpus, answers: list[Answer]) -> NDArray[np.float64]:
    """The share of what each gap's group cites among the papers of its answer."""
    shares = []
    for answer in answers:
        relevant = {*answer.source.cited[answer.group]}
        shares.append(len(relevant & {corpus.row(id_) for id_ in answer.ids}) / len(relevant))
    return np.array(shares)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--papers", type=int, default=200)
    parser.add_argument("--each", type=int, default=2, help="gaps of a paper that are asked alone")
    parser.add_argument("--form", choices=tuple(_GAP), default="latex")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--url", help="of a running endpoint over the same index, which answers the drafts")
    options = parser.parse_args()
    sources = read_sources(Corpus.open(options.corpus), options.papers, options.seed)
    recommender = Recommender.load(options.model, options.index)
    corpus = recommender.index.corpus
    answer: InProcess | Endpoint = InProcess(recommender)
    if options.url:
        answer = Endpoint(httpx.Client(base_url=options.url, timeout=600, trust_env=False), corpus)
    by = "POST /v1/draft" if options.url else "the library"
    print(f"{len(sources)} test papers as {options.form}, answered by {by}\n")
    print(
        f"| draft | gaps | R@{DEPTH} through drafts | of the local task | difference, 95 % of samples of papers |"
    )
    print("| --- | --- | --- | --- | --- |")
    every = ask_drafts(answer, corpus, sources, options.form)
    single = ask_drafts(answer, corpus, sources, options.form, each=options.each)
    for name, answers, without_cited in (
        ("all citations are gaps", every, False),
        ("one is, the others are cited", single, False),
        ("the same, and the local task leaves out what they cite", single, True),
    ):
        locally = ask_local(recommender, answers, without_cited=without_cited)
        through, local = recalls(corpus, answers), recalls(corpus, locally)
        papers = np.array([answer.source.row for answer in answers])
        low, high = np.quantile(resampled_means((through - local)[:, None], papers), [0.025, 0.975])
        print(
            f"| {name} | {len(answers):,} | {through.mean():.3f} | {local.mean():.3f} "
            f"| {(through - local).mean():+.3f} ({low:+.3f} to {high:+.3f}) |"
        )


if __name__ == "__main__":
    main()

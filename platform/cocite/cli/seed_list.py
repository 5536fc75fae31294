"""What ``cocite recommend`` answers without a draft: papers like those that are liked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cocite.cli.console import out, print_json, print_note
from cocite.errors import InputError

if TYPE_CHECKING:
    from cocite.corpus.store import Corpus
    from cocite.pipeline.options import Recommendation
    from cocite.pipeline.recommender import Recommender

NOTHING = "no paper of the index is linked with these or like them"


def seed_rows(corpus: Corpus, like: Sequence[str], dislike: Sequence[str]) -> tuple[list[int], list[int]]:
    """The rows of the papers of --like and --dislike.

    Raises:
        InputError: the corpus does not hold one of them, one is in both lists, or a list is too long.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> like, dislike = seed_rows(corpus, ["arXiv:1706.03762"], [])
        >>> corpus.ids(like), dislike
        (['vaswani2017attention'], [])
    """
    from cocite.drafts.paper_ids import rows_of_ids
    from cocite.pipeline.seed_lists import checked_seeds

    found = []
    for option, ids in (("--like", like), ("--dislike", dislike)):
        rows = rows_of_ids(ids, corpus).tolist()
        unknown = [id_ for id_, row in zip(ids, rows, strict=True) if row < 0]
        if unknown:
            raise InputError(
                f"the corpus has no paper with the id {unknown[0]!r}",
                where=option,
                hint="give ids as the corpus writes them, or DOIs, arXiv, ACL or S2 ids of papers that it has",
            )
        found.append(rows)
    likes, dislikes = checked_seeds(found[0], found[1], corpus.ids)
    return list(likes), list(dislikes)


def recommend_like(
    recommender: Recommender,
    like: Sequence[str],
    dislike: Sequence[str],
    *,
    year: int | None,
    authors: Sequence[str],
    top_k: int,
    as_json: bool,
) -> None:
    """Print the papers that those of --like and --dislike alone lead to.

    Raises:
        InputError: as of :func:`seed_rows`.
    """
    from cocite.pipeline.options import Options

    # Looked up before, so that what is wrong names the option.
    corpus = recommender.index.corpus
    likes, dislikes = seed_rows(corpus, like, dislike)
    query = recommender.query(
        like=corpus.ids(likes), dislike=corpus.ids(dislikes), year=year, authors=authors
    )
    show_papers(recommender.recommend(query, Options(top_k=top_k)), as_json=as_json)


def show_papers(papers: Sequence[Recommendation], *, as_json: bool) -> None:
    """Print recommended papers with their reasons."""
    from cocite.drafts.report import byline, printable, reasons, recommended_values

    if as_json:
        print_json({"papers": [recommended_values(paper) for paper in papers]})
        return
    for number, paper in enumerate(papers, 1):
        out.print(printable(f"{number}. {paper.title} ({byline(paper)})"))
        for reason in reasons(paper.evidence):
            out.print(printable(f"   {reason}"), style="dim")
    if not papers:
        print_note(NOTHING)

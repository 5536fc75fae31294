"""cocite: recommend the papers that a manuscript should cite.

Importing the package costs nothing: heavy libraries are loaded by the modules that use them.

>>> from cocite import recommend
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cocite.pipeline.recommendation_list import Recommendations

__version__ = "0.1.0"


def recommend(
    index: str | Path,
    *,
    model: str | Path | None = None,
    title: str = "",
    abstract: str = "",
    context: str = "",
    year: int | None = None,
    authors: Sequence[str] = (),
    venue: str = "",
    exclude: Sequence[str] = (),
    like: Sequence[str] = (),
    dislike: Sequence[str] = (),
    top_k: int = 20,
) -> Recommendations:
    """Recommend papers for one manuscript or gap, in one call; a notebook shows them as a table.

    Index and model are opened anew at each call. For several queries, keep a
    :class:`cocite.pipeline.Recommender`.

    Args:
        index: index folder.
        model: model folder; None: nothing that was learned is used.
        title: of the manuscript.
        abstract: of the manuscript.
        context: text around a gap that reads ``[CIT]`` or ``TARGETCIT``.
        year: of the manuscript: later papers are not recommended to it.
        authors: of the manuscript, as the corpus writes them.
        venue: where it is to appear.
        exclude: ids of papers not to recommend, or their DOIs, arXiv, ACL, S2 or OpenAlex ids.
        like: as these, of papers whose like is wanted; with them no text is needed.
        dislike: as these, of papers whose like is not wanted.
        top_k: papers returned, at least 1.

    Returns:
        The papers, best first, with the reasons for each.

    Raises:
        InputError: there is neither a text nor a paper that is liked, a paper is liked and disliked, or ``index`` or
            ``model`` is another kind of folder.
        NotFoundError: a folder is missing, or the corpus does not hold one of the ids.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = IndexSnapshot.create(starter_corpus(), Path(folder, "index"))
        ...     [best] = recommend(Path(folder, "index"), title="Attention-based machine translation", top_k=1)
        >>> best.title
        'Neural Machine Translation by Jointly Learning to Align and Translate'

        Papers in place of a text:

        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = IndexSnapshot.create(starter_corpus(), Path(folder, "index"))
        ...     liked = ["bahdanau2015neural", "luong2015effective"]
        ...     [best] = recommend(Path(folder, "index"), like=liked, top_k=1)
        >>> best.title
        'Sequence to Sequence Learning with Neural Networks'
    """
    from cocite.drafts.paper_ids import own_ids
    from cocite.pipeline.options import Options
    from cocite.pipeline.recommender import Recommender

    recommender = Recommender.load(model, index)
    corpus = recommender.index.corpus
    query = recommender.query(
        title=title,
        abstract=abstract,
        context=context,
        year=year,
        authors=authors,
        venue=venue,
        exclude=own_ids(exclude, corpus),
        like=own_ids(like, corpus),
        dislike=own_ids(dislike, corpus),
    )
    return recommender.recommend(query, Options(top_k=top_k))

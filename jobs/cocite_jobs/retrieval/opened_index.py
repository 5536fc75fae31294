"""An index of a corpus under a history, opened in this process or with its shards as actors of Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cocite.progress_bars import Advance

if TYPE_CHECKING:
    from cocite.corpus.history import History
    from cocite.corpus.store import Corpus
    from cocite.protocols import Encoder
    from cocite.retrieval.index.search_index import SearchIndex


@dataclass(frozen=True)
class SearchPlace:
    """Where the shards of an index are searched.

    Attributes:
        on: ``process``: in this one; ``ray``: an actor each.
        address: of a running cluster, see :func:`cocite_jobs.cluster.connection.ray_connection`.

    Example:
        >>> SearchPlace().on
        'process'
    """

    on: Literal["process", "ray"] = "process"
    address: str | None = None


@contextmanager
def opened_index(
    corpus: Corpus,
    history: History,
    encoders: Sequence[Encoder],
    saved: Path | None,
    place: SearchPlace,
    indexing: Callable[[], AbstractContextManager[Advance]],
) -> Iterator[SearchIndex]:
    """The index of a corpus under a history, while the block runs.

    Args:
        corpus: the papers.
        history: what is known.
        encoders: whose vectors are wanted.
        saved: an index folder of the corpus; None: all is made anew, in this process.
        place: where its shards are searched. Those on Ray stay as they were built: history and encoders must be theirs.
        indexing: what is open while this process makes an index, such as a progress bar.

    Raises:
        CociteError: the folder holds no such index, or Ray did not start.

    Example:
        >>> from contextlib import nullcontext
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> bar = lambda: nullcontext(lambda count: None)
        >>> with opened_index(corpus, History.all(corpus), [], None, SearchPlace(), bar) as index:
        ...     len(index) == len(corpus)
        True
    """
    from cocite.retrieval.index.opening import open_index
    from cocite.retrieval.index.reuse import index_of

    if place.on == "ray" and saved is not None:
        from cocite_jobs.retrieval.matching_index import require_same
        from cocite_jobs.retrieval.ray_shards import open_on_ray

        with open_on_ray(saved, place.address) as sharded:
            require_same(sharded, corpus, history, encoders)
            yield sharded
        return
    opened = open_index(saved) if saved is not None else None
    with indexing() as advance:
        index = index_of(corpus, history, encoders, saved=opened, advance=advance)
    yield index

"""A recommender as a component of Haystack; needs the extra ``haystack``, and nothing else of cocite imports it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import fields, replace
from typing import Any

from haystack import Document, component

from cocite.errors import InputError, nearest
from cocite.pipeline.options import Options, Recommendation
from cocite.pipeline.passages import paper_content, paper_metadata, query_of
from cocite.pipeline.recommender import Recommender


@component
class CociteRetriever:
    """Retrieves the papers that a text should cite, as documents of Haystack.

    A text with ``[CIT]`` in it is a gap. Of another text the first line is the title of a manuscript, and the further
    lines its abstract. One retriever ranks one query at a time; ``run_async`` ranks in a thread, so that the event loop
    goes on.

    A document has title and abstract as ``content``, the paper's id and score, and as ``meta`` the rest of what
    :func:`~cocite.pipeline.passages.paper_metadata` gives. The component is written to YAML with its paths and
    settings, and read with ``allowed_modules=["cocite.*"]``; index and model are opened by :meth:`warm_up`.

    Args:
        index: the index folder.
        model: the model folder; None: nothing that was learned is used.
        top_k: papers returned.
        year: of the manuscript: later papers are not recommended to it, unless the options say otherwise.
        options: further fields of :class:`~cocite.pipeline.options.Options`, such as ``{"year_from": 2010}``.

    Raises:
        InputError: there is no such option, or one has a wrong value; a query is empty, or longer than
            :data:`~cocite.pipeline.passages.MAX_CHARACTERS`.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> folder = tempfile.TemporaryDirectory()
        >>> _ = IndexSnapshot.create(starter_corpus(), folder.name + "/index")
        >>> retriever = CociteRetriever(folder.name + "/index", top_k=2)
        >>> best, _ = retriever.run("Translations are compared with references by BLEU [CIT].")["documents"]
        >>> best.meta["rank"], best.meta["title"]
        (1, 'BLEU: a Method for Automatic Evaluation of Machine Translation')
        >>> folder.cleanup()
    """

    def __init__(
        self,
        index: str,
        model: str | None = None,
        top_k: int = 10,
        year: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        # Haystack writes the arguments to YAML by the attributes of their names.
        self.index, self.model, self.top_k, self.year = str(index), model and str(model), top_k, year
        self.options = dict(options or {})
        self._options = _options(self.options, top_k)
        self._recommender: Recommender | None = None
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Open index and model; a second call does nothing."""
        with self._lock:
            if self._recommender is None:
                self._recommender = Recommender.load(self.model, self.index)

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, year: int | None = None) -> dict[str, list[Document]]:
        """The papers of a text, best first.

        Args:
            query: the text.
            top_k: papers returned, in place of the component's own number.
            year: of the manuscript, in place of the component's own.

        Returns:
            ``documents``.
        """
        self.warm_up()
        assert self._recommender is not None
        options = self._options if top_k is None else replace(self._options, top_k=top_k)
        asked = query_of(self._recommender, query, year=self.year if year is None else year)
        with self._lock:
            found = self._recommender.recommend(asked, options)
        return {"documents": [document(paper, rank) for rank, paper in enumerate(found, 1)]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, top_k: int | None = None, year: int | None = None
    ) -> dict[str, list[Document]]:
        """What :meth:`run` returns, ranked in a thread."""
        return await asyncio.to_thread(self.run, query, top_k, year)


def _options(values: dict[str, Any], top_k: int) -> Options:
    """The options of a dictionary, whose lists YAML has in the place of tuples."""
    known = {field.name for field in fields(Options)} - {"top_k"}
    for name in values:
        if name not in known:
            raise InputError(f"no option is called {name!r}", where="options", hint=nearest(name, known))
    return Options(top_k=top_k, **{name: _tuples(value) for name, value in values.items()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def document(paper: Recommendation, rank: int) -> Document:
    """A recommended paper as a document of Haystack.

    Example:
        >>> from cocite.pipeline.evidence import Evidence
        >>> paper = Recommendation(7, "bleu", "BLEU", ("Ann Lee",), 2002, "ACL", "A metric.", "", 3.5, {}, Evidence())
        >>> document(paper, 1).id, document(paper, 1).score
        ('bleu', 3.5)
    """
    meta = paper_metadata(paper, rank)
    # Haystack writes fields and meta of a document side by side: of equal names one would be lost.
    id_, score = meta.pop("id"), meta.pop("score")
    return Document(id=id_, content=paper_content(paper), meta=meta, score=score)

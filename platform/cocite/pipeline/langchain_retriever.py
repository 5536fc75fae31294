"""A recommender as a retriever of LangChain; needs the extra ``langchain``, and nothing else of cocite imports it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr

from cocite.pipeline.options import Options, Recommendation
from cocite.pipeline.passages import paper_content, paper_metadata, query_of
from cocite.pipeline.recommender import Recommender


class CociteRetriever(BaseRetriever):
    """Retrieves the papers that a text should cite, as documents of LangChain.

    A text with ``[CIT]`` in it is a gap. Of another text the first line is the title of a manuscript, and the further
    lines its abstract. ``ainvoke`` and ``abatch`` rank in a thread of LangChain's executor, so that the event loop
    goes on; one retriever ranks one query at a time.

    A document has title and abstract as ``page_content``, and as ``metadata`` what
    :func:`~cocite.pipeline.passages.paper_metadata` gives.

    Args:
        recommender: ranks the papers.
        options: how many papers, and of which.
        year: of the manuscript: later papers are not recommended to it, unless the options say otherwise.

    Raises:
        InputError: a query is empty, or longer than :data:`~cocite.pipeline.passages.MAX_CHARACTERS`.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> recommender = Recommender.over(None, Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> retriever = CociteRetriever(recommender=recommender, options=Options(top_k=2))
        >>> best, _ = retriever.invoke("Translations are compared with references by BLEU [CIT].")
        >>> best.metadata["rank"], best.metadata["title"]
        (1, 'BLEU: a Method for Automatic Evaluation of Machine Translation')
    """

    recommender: Recommender
    options: Options = Field(default_factory=lambda: Options(top_k=10))
    year: int | None = Field(default=None, ge=1, le=9999)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @classmethod
    def load(cls, index: str | Path, model: str | Path | None = None, **fields: Any) -> CociteRetriever:
        """A retriever over an index and a model folder, as :meth:`Recommender.load` opens them.

        Args:
            index: the index folder.
            model: the model folder; None: nothing that was learned is used.
            fields: of the retriever: ``options``, ``year``, and LangChain's ``tags`` and ``metadata``.
        """
        return cls(recommender=Recommender.load(model, index), **fields)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 LangChain passes it
    ) -> list[Document]:
        asked = query_of(self.recommender, query, year=self.year)
        with self._lock:
            found = self.recommender.recommend(asked, self.options)
        return [document(paper, rank) for rank, paper in enumerate(found, 1)]


def document(paper: Recommendation, rank: int) -> Document:
    """A recommended paper as a document of LangChain.

    Example:
        >>> from cocite.pipeline.evidence import Evidence
        >>> paper = Recommendation(7, "bleu", "BLEU", ("Ann Lee",), 2002, "ACL", "A metric.", "", 3.5, {}, Evidence())
        >>> document(paper, 1).page_content
        'BLEU\\n\\nA metric.'
    """
    return Document(id=paper.id, page_content=paper_content(paper), metadata=paper_metadata(paper, rank))

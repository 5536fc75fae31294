"""BM25 over the papers' fields, from one pass over their titles and abstracts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.atomic_files import write_atomic
from cocite.corpus.store import Corpus
from cocite.manifests import read_json
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import Bm25Fields, Bm25Settings
from cocite.retrieval.engines.bm25_files import load_group, save_group
from cocite.retrieval.index.documents import (
    FIELDS,
    INSIDE,
    Advance,
    ignore_progress,
    titles_and_abstracts,
    with_progress,
)
from cocite.text.tokens import WordTokenizer


class PaperIndexes(Mapping[str, Bm25Index]):
    """The BM25 index of each of :data:`~cocite.retrieval.index.documents.FIELDS`, with one vocabulary.

    The words of ``text`` are those of title and abstract together, so the abstracts' index is made of the difference
    when it is first asked for; its statistics are exact then, also after papers were added.

    Args:
        text, title: the indexes that are stored.
        abstract: k1 and b of the third.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> papers = PaperIndexes.build(starter_corpus())
        >>> list(papers), papers["text"].vocabulary is papers["abstract"].vocabulary
        (['text', 'title', 'abstract'], True)
    """

    def __init__(self, text: Bm25Index, title: Bm25Index, abstract: Bm25Settings | None = None) -> None:
        self._stored = {"text": text, "title": title}
        self._abstract_settings = abstract or Bm25Settings()

    @classmethod
    def build(
        cls, corpus: Corpus, settings: Bm25Fields | None = None, advance: Advance = ignore_progress
    ) -> PaperIndexes:
        """Index all papers; ``advance`` receives the number of titles and abstracts read."""
        settings = settings or Bm25Fields()
        tokenizer, vocabulary = WordTokenizer(), dict[str, int]()
        text, title = count_papers(corpus, tokenizer, vocabulary, advance=advance)
        return cls(
            Bm25Index.of_counts(tokenizer, vocabulary, text, settings.text.k1, settings.text.b),
            Bm25Index.of_counts(tokenizer, vocabulary, title, settings.title.k1, settings.title.b),
            settings.abstract,
        )

    def append(self, corpus: Corpus, advance: Advance = ignore_progress) -> PaperIndexes:
        """The indexes of a corpus whose first papers are these; the statistics of text and title stay."""
        text, title = self._stored["text"], self._stored["title"]
        vocabulary = dict(text.vocabulary)
        more = count_papers(corpus, text.tokenizer, vocabulary, len(text), advance=advance)
        return PaperIndexes(
            text.append_counts(vocabulary, more[0]),
            title.append_counts(vocabulary, more[1]),
            self._abstract_settings,
        )

    @property
    def settings(self) -> Bm25Fields:
        """k1 and b of each field."""
        return Bm25Fields.of(self._stored).model_copy(update={"abstract": self._abstract_settings})

    @cached_property
    def _abstract(self) -> Bm25Index:
        text, title, settings = self._stored["text"], self._stored["title"], self._abstract_settings
        counts = sp.csr_matrix(text.counts.matrix() - title.counts.matrix())
        counts.eliminate_zeros()
        return Bm25Index.of_counts(text.tokenizer, text.vocabulary, counts, settings.k1, settings.b)

    def __getitem__(self, name: str) -> Bm25Index:
        return self._abstract if name == "abstract" else self._stored[name]

    def __iter__(self) -> Iterator[str]:
        return iter(FIELDS)

    def __len__(self) -> int:
        return len(FIELDS)

    def save(self, folder: Path) -> None:
        """Write the stored indexes into a new folder."""
        save_group(self._stored, folder, inside=INSIDE)
        settings = {"abstract": self._abstract_settings.model_dump()}
        write_atomic(folder / "fields.json", json.dumps(settings, indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path) -> PaperIndexes:
        """Open what :meth:`save` wrote; the arrays are memory-mapped.

        Raises:
            NotFoundError: there is no such folder.
            IntegrityError: it holds no readable indexes.
        """
        stored = load_group(folder, ("text", "title"))
        settings = Bm25Settings.parse(read_json(folder / "fields.json")["abstract"], where=str(folder))
        return cls(stored["text"], stored["title"], settings)


def count_papers(
    corpus: Corpus,
    tokenizer: WordTokenizer,
    vocabulary: dict[str, int],
    start: int = 0,
    stop: int | None = None,
    *,
    advance: Advance = ignore_progress,
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """(n, V) the word counts of title and abstract, and of the title alone, of the papers ``start : stop``.

    Args:
        corpus: the papers.
        tokenizer: splits their texts.
        vocabulary: learns their words.
        start, stop: rows.
        advance: receives the number of titles and abstracts read.
    """
    texts = with_progress(titles_and_abstracts(corpus, start, stop), advance)
    return divided_counts(*tokenizer.learn(texts, vocabulary), columns=len(vocabulary))


def divided_counts(
    numbers: NDArray[np.int32], indptr: NDArray[np.int64], *, columns: int
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """(n, V) the word counts of title and abstract, and of the title alone, of n papers.

    Args:
        numbers, indptr: the words of title and abstract of each paper in turn; they must not be used again.
        columns: V.
    """
    both = matrices.counted(numbers, indptr, columns=columns)
    title = both[0::2]
    return sp.csr_matrix(title + both[1::2]), title

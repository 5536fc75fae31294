"""How strongly queries are joined to papers by meta-paths, from what a history knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.text.fields import METADATA, TEXT, Bags, FieldEncoder

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

TERMS = "terms"
"""The words of title and abstract together."""
NEAREST = 100
"""The known papers of the highest similarity of one type from which paths go on; those equal to the last one too."""
IN_CITATIONS = "in-citations"


class MetaPathFeatures:
    """Path features of (query, paper) pairs.

    For each X of terms, authors, venue and keyphrases that papers have, the similarity of two papers by P-X-P is the
    cosine of their bags of X (terms are weighted by inverse document frequency). A walker goes from the query to one of
    the :data:`NEAREST` known papers of the highest similarity, in proportion to it. The features are

    - ``P-X-P``: the similarity of query and candidate;
    - ``P-X-P>P``: the expected number of links from the walker's paper to the candidate;
    - ``P-X-P<P``: that of links from the candidate to the walker's paper;
    - ``P-X-P>P<P>P``: how many papers cite a paper that the walker's paper cites, and the candidate with it: the
      expected number of such pairs, whose logarithm (of 1 + x) is taken;
    - ``in-citations``: the logarithm of 1 + the number of known papers that cite the candidate.

    Args:
        history: what is known; the links of a query that is in the corpus have to be unknown to it.
        fields: numbers words and names; made from the same history, with metadata.

    Attributes:
        names: of the features.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.fields import FieldSettings
        >>> corpus = starter_corpus()
        >>> history = History.until(corpus, 2018)
        >>> fields = FieldEncoder.build(history, FieldSettings(), metadata=True)
        >>> features = MetaPathFeatures(history, fields)
        >>> query = np.array([corpus.row("devlin2019bert")], np.int32)
        >>> values = features.of_papers(query)
        >>> features.names[:3], values["P-terms-P>P"].shape
        (('P-terms-P', 'P-terms-P>P', 'P-terms-P<P'), (1, 423))
    """

    def __init__(self, history: History, fields: FieldEncoder) -> None:
        self.history, self.fields = history, fields
        self._bags = fields.papers(history.corpus)
        known = max(int(history.citing.sum()), 1)
        self._idf = {TERMS: fields.vocabularies["words"].inverse_document_frequency(known)}
        self._papers = {
            name: matrix for name, matrix in self._units(self._bags).items() if matrix.nnz
        }  # name -> (N, V) rows of length 1
        self._cites = _matrix(history.cites, len(history.corpus), None)
        self._in_citations = np.log1p(history.in_citations).astype(np.float32)
        paths = ("P", "P>P", "P<P", "P>P<P>P")
        self.names = (*(f"P-{x}-{path}" for x in self._papers for path in paths), IN_CITATIONS)

    def of_papers(self, rows: NDArray[np.int32]) -> dict[str, NDArray[np.float32]]:
        """Name -> (Q, N) values of papers of the corpus as queries, held at once: for few queries."""
        bags = {field: _rows(bag, rows) for field, bag in self._bags.items()}
        return dict(self.values(bags, rows))

    def values(self, bags: Bags, own: NDArray[np.int32]) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Each feature in turn: its name, and its values (Q, N) for all papers.

        Args:
            bags: of Q queries, see :meth:`~cocite.text.fields.FieldEncoder.queries`.
            own: (Q,) row of each query; ``NO_ROW``: it is not in the corpus. No path leads over the query itself.
        """
        queries = self._units(bags)
        inside = np.flatnonzero(own >= 0)
        for name, papers in self._papers.items():
            similar = (queries[name] @ papers.T).toarray().astype(np.float32)  # (Q, N)
            similar[inside, own[inside]] = 0
            yield f"P-{name}-P", similar
            walker = self._walker(similar)
            cited = (self._cites.T @ walker.T).T
            yield f"P-{name}-P>P", cited
            yield f"P-{name}-P<P", (self._cites @ walker.T).T
            citing = self._cites @ cited.T  # (N, Q): papers that cite what the walker's paper cites
            yield f"P-{name}-P>P<P>P", np.log1p((self._cites.T @ citing).T)
        yield IN_CITATIONS, np.broadcast_to(self._in_citations, (len(own), len(self._in_citations)))

    def _walker(self, similar: NDArray[np.float32]) -> NDArray[np.float32]:
        """(Q, N) probability of each known paper to be the walker's; zeros where none is similar."""
        weights = np.where(self.history.citing, similar, 0)
        if weights.shape[1] > NEAREST:
            least = np.partition(weights, -NEAREST, axis=1)[:, -NEAREST, None]
            weights = np.where(weights >= least, weights, 0)
        total = weights.sum(axis=1, keepdims=True)
        return np.asarray(weights / np.where(total > 0, total, 1), np.float32)

    def _units(self, bags: Bags) -> dict[str, csr_matrix]:
        """X -> (n, V) bags as rows of length 1."""
        text = [bags[field].pairs() for field in TEXT]
        owners, entries = (np.concatenate(column) for column in zip(*text, strict=True))
        every: Mapping[str, CSR] = {
            TERMS: CSR.build(owners, entries, len(bags["title"])),
            **{field: bags[field] for field in METADATA if field in bags},
        }
        found = {}
        for name, bag in every.items():
            vocabulary = self.fields.vocabularies["words" if name == TERMS else name]
            found[name] = _matrix(bag, len(vocabulary), self._idf.get(name), unit=True)
        return found


def _rows(bag: CSR, rows: NDArray[np.int32]) -> CSR:
    owner, entries = bag.gather(rows)
    return CSR.build(owner, entries, len(rows))


def _matrix(
    table: CSR, columns: int, weights: NDArray[np.float32] | None, *, unit: bool = False
) -> csr_matrix:
    """A table as a sparse matrix (n, columns): weights of the columns (1 by default), rows of length 1 if so asked."""
    from scipy.sparse import csr_matrix

    values = np.ones(len(table.indices), np.float32) if weights is None else weights[table.indices]
    if unit:
        owner, _ = table.pairs()
        squares = np.bincount(owner, weights=values.astype(np.float64) ** 2, minlength=len(table))
        values = (values / np.sqrt(squares[owner])).astype(np.float32)
    return csr_matrix((values, table.indices, table.indptr), shape=(len(table), columns))

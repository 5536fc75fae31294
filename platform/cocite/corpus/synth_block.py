"""A block of synthetic papers: the store's columns, with rows in place of ids, and the records that say the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.records import SPLITS, ContextRecord, PaperRecord, Record, SentenceRecord


def paper_id(row: int) -> str:
    """The id of a synthetic paper."""
    return f"S{row:08d}"


def paper_ids(rows: NDArray[np.integer]) -> pa.StringArray:
    """The ids of (n,) synthetic papers."""
    digits = pc.utf8_lpad(pc.cast(pa.array(rows), pa.string()), 8, "0")
    return pc.binary_join_element_wise("S", digits, "")


def repeated(text: str, times: int) -> pa.StringArray:
    """A column that holds one text in all its rows."""
    return pa.repeat(pa.scalar(text, pa.string()), times)


def list_column(degrees: NDArray[np.integer], entries: pa.Array) -> pa.ListArray:
    """A column of lists: (n,) how many of the entries belong to each row."""
    offsets = np.zeros(len(degrees) + 1, np.int32)
    np.cumsum(degrees, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), entries)


@dataclass(frozen=True)
class SyntheticBlock:
    """Consecutive papers, with all that belongs to them.

    Attributes:
        rows: (n,) of the papers.
        papers: their columns, as ``PAPERS``.
        cited: (n, m) rows that each paper cites, -1 where there is none; one may stand there more than once.
        contexts: columns of their contexts in order of the papers, as ``CONTEXTS``: those of a paper are numbered from
            0 by ``group``, and the rows of ``cited`` ascend.
        sentences: columns of their bodies in the same order, as ``SENTENCES``: empty, or two for each context.

    Example:
        >>> from cocite.corpus.synth import Synthetic
        >>> block = list(Synthetic(64, seed=1).blocks())[-1]
        >>> block.rows.tolist(), block.papers.num_rows, block.contexts["citing"][0].as_py()
        ([56, 57, 58, 59, 60, 61, 62, 63], 8, 56)
        >>> row, record = next(block.records())
        >>> row, record.id, record.citations[:2]
        (56, 'S00000056', ('S00000020', 'S00000008'))
    """

    rows: NDArray[np.int64]
    papers: pa.RecordBatch
    cited: NDArray[np.int64]
    contexts: pa.RecordBatch
    sentences: pa.RecordBatch

    @property
    def links(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The citing and the cited row of each citation; one may be there more than once."""
        paper, slot = np.nonzero(self.cited >= 0)
        return self.rows[paper], self.cited[paper, slot]

    @property
    def groups(self) -> CSR:
        """The rows that each context cites."""
        cited = self.contexts["cited"]
        return CSR(cited.offsets.to_numpy().astype(np.int64), cited.values.to_numpy())

    @property
    def body_lengths(self) -> NDArray[np.int64]:
        """(n,) sentences of each paper."""
        return self._context_counts * (2 if self.sentences.num_rows else 0)

    @property
    def _context_counts(self) -> NDArray[np.int64]:
        """(n,) contexts of each paper."""
        citing = self.contexts["citing"].to_numpy() - self.rows[0]
        return np.asarray(np.bincount(citing, minlength=len(self.rows)), np.int64)

    def records(self) -> Iterator[tuple[int, Record]]:
        """The same as records, each with the row of its paper: a paper, then each of its contexts and its sentences."""
        contexts, sentences = iter(self.contexts.to_pylist()), iter(self.sentences.to_pylist())
        paper_columns = (self.rows, self.cited, self._context_counts)
        lists = (column.tolist() for column in paper_columns)
        for values, row, cited, count in zip(self.papers.to_pylist(), *lists, strict=True):
            values |= {name: tuple(values[name]) for name in ("authors", "keyphrases")}
            values |= {"split": SPLITS[values["split"]], "citations": _distinct_ids(cited)}
            yield row, PaperRecord(**values)
            for _ in range(count):
                context = next(contexts)
                yield (
                    row,
                    ContextRecord(
                        **context | {"citing": paper_id(row), "cited": _distinct_ids(context["cited"])}
                    ),
                )
                for _ in range(2 if self.sentences.num_rows else 0):
                    yield row, SentenceRecord(paper_id(row), **next(sentences))


def _distinct_ids(rows: list[int]) -> tuple[str, ...]:
    return tuple(paper_id(row) for row in dict.fromkeys(rows) if row >= 0)

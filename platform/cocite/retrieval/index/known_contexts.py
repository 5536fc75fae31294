"""Which papers the known contexts of an index stand in and cite: memory-mapped arrays of a version."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import scratch_array
from cocite.artifacts import load_array
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.errors import IntegrityError
from cocite.retrieval.engines.matrices import read_only

FOLDER = "known"
"""The folder of a version that holds them."""


@dataclass(frozen=True)
class KnownContexts:
    """The C known contexts of a history, in the order of the corpus.

    Attributes:
        papers: (C,) the citing row of each; ascending.
        cited: the papers that each cites.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> len(KnownContexts.of(History.all(starter_corpus())).papers)
        620
    """

    papers: NDArray[np.int32]
    cited: CSR

    @classmethod
    def of(cls, history: History) -> KnownContexts:
        """Those of a history: the corpus' own arrays where all are known, else copies in files without names.

        A block of contexts is in memory at a time, and a byte for each context.
        """
        citing, cited = history.corpus.context_citing, history.corpus.context_cited
        if history.citing.all():
            return cls(citing, cited)
        kept = [history.citing[citing[block]] for block, _ in cited.blocks()]
        papers = scratch_array(sum(map(np.count_nonzero, kept)), np.int32)
        indptr = scratch_array(len(papers) + 1, np.int64)
        row = 0
        for (block, part), of_part in zip(cited.blocks(), kept, strict=True):
            begin, row = row, row + int(np.count_nonzero(of_part))
            papers[begin:row] = citing[block][of_part]
            indptr[begin + 1 : row + 1] = indptr[begin] + np.cumsum(part.degrees[of_part], dtype=np.int64)
        indices = scratch_array(int(indptr[-1]), np.int32)
        row = 0
        for (_, part), of_part in zip(cited.blocks(), kept, strict=True):
            begin, row = row, row + int(np.count_nonzero(of_part))
            _, entries = part.gather(np.flatnonzero(of_part))
            indices[indptr[begin] : indptr[row]] = entries
        return cls(read_only(papers), CSR(read_only(indptr), read_only(indices)))

    def save(self, folder: Path) -> None:
        """Write the arrays into a new folder."""
        folder.mkdir()
        np.save(folder / "papers.npy", self.papers)
        np.save(folder / "cited.indptr.npy", self.cited.indptr)
        np.save(folder / "cited.indices.npy", self.cited.indices)

    @classmethod
    def open(cls, folder: Path) -> KnownContexts | None:
        """Memory-map what :meth:`save` wrote; None where there is no folder, as in versions of an earlier cocite.

        Raises:
            IntegrityError: an array is not readable, or they do not fit together.
        """
        if not folder.is_dir():
            return None
        papers, indptr, indices = (
            load_array(folder / f"{name}.npy") for name in ("papers", "cited.indptr", "cited.indices")
        )
        if len(indptr) != len(papers) + 1 or indptr[-1] != len(indices):
            raise IntegrityError(
                f"{len(indptr) - 1} contexts and {len(indices)} citations where {len(papers)} contexts belong",
                where=str(folder),
            )
        return cls(papers, CSR(indptr, indices))

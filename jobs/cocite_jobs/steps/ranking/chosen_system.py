"""A ranking system by the names of what it is made of, as it travels to workers; and how many queries a part has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.evaluation import systems
from cocite.evaluation.experiment import Rank
from cocite.manifests import read_manifest
from cocite.pipeline.components import list_components
from cocite.pipeline.options import CandidateScope
from cocite.retrieval.index.opening import SavedIndex, open_index
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.index.versions import VersionedFolder
from cocite.retrieval.query_forms import QueryForm
from cocite_jobs.steps.files import fetch_seen, place_of, require_seen
from cocite_jobs.storage.transfer import fetch

CORPUS = "corpus"
"""The folder of an index' version that holds its papers."""
PART_LINES = 1 << 20
"""Lines of a part's run, about: some 50 MB of text."""


def part_queries(k: int, batch: int) -> int:
    """Queries of a part: whole batches, so that each query is ranked with the same others however many parts there are.

    Args:
        k: depth of the rankings.
        batch: queries ranked at a time.

    Example:
        >>> part_queries(2000, 64), part_queries(10, 64), part_queries(100_000, 64)
        (512, 104832, 64)
    """
    return max(1, PART_LINES // (k * batch)) * batch


@dataclass(frozen=True)
class ChosenSystem:
    """A system over a saved index.

    Attributes:
        name: one of :data:`cocite.evaluation.systems.SYSTEMS`.
        index: the index folder, by its path or URI, which every worker sees.
        version: of the index.
        digest: of that version.
        model: the model folder, by its path or URI, which every worker sees; None: none.
        components: the digest of each component in that folder, by their names.
        form: which texts of a query are matched; BM25's alone.
        rerank: how many candidates the cross-encoder reads; None: the usual number.
        candidates: ``all`` papers or ``older`` ones.

    Example:
        >>> ChosenSystem("bm25", "/data/index", "000001", "12ab").candidates
        'all'
    """

    name: str
    index: str
    version: str
    digest: str
    model: str | None = None
    components: tuple[tuple[str, str], ...] = ()
    form: QueryForm | None = None
    rerank: int | None = None
    candidates: CandidateScope = "all"

    @classmethod
    def over(cls, index: Path, name: str, model: Path | None, **chosen: Any) -> ChosenSystem:
        """A system over the current version of an index folder.

        Args:
            index: the folder; where it is a copy, workers copy from the same URI.
            name: of the system.
            model: the model folder, likewise.
            chosen: ``form``, ``rerank`` and ``candidates``.
        """
        versions = VersionedFolder(index)
        version = versions.current()
        digest = read_manifest(versions.folder(version)).digest
        found = (None, ()) if model is None else (place_of(model), _components(model))
        return cls(name, place_of(index), version, digest, *found, **chosen)

    @property
    def key(self) -> dict[str, Any]:
        """What determines its rankings, as JSON values."""
        return asdict(self)

    def open_index(self) -> SavedIndex:
        """The index, as this machine sees it.

        Raises:
            CociteError: this machine does not see it, or sees another one.
        """
        folder = fetch(self.index) if "://" in self.index else fetch_seen(self.index)
        index = open_index(folder, self.version)
        found = read_manifest(VersionedFolder(folder).folder(self.version)).digest
        require_seen(found == self.digest, "index", self.index)
        return index

    @contextmanager
    def opened_corpus(self, index: Path) -> Iterator[Corpus]:
        """The papers of the index while the block runs, for a command that ranks nothing itself.

        Args:
            index: the folder that :meth:`over` read; it may lack the shards, and whatever else is searched.

        Raises:
            NotFoundError: it has another version by now.
            IntegrityError: a file of the papers is damaged.
        """
        versions = VersionedFolder(index)
        _, lock = versions.lock(self.version)
        try:
            yield Corpus.open(versions.folder(self.version) / CORPUS)
        finally:
            lock.release()

    def open_model(self) -> Path | None:
        """The model folder, as this machine sees it; None: there is none.

        Raises:
            CociteError: this machine does not see it, or sees another one.
        """
        if self.model is None:
            return None
        folder = fetch_seen(self.model)
        require_seen(_components(folder) == self.components, "model", self.model)
        return folder

    def open(self, index: SearchIndex) -> Rank:
        """The system over an opened index, as a function that ranks."""
        model = self.open_model()
        return systems.open_system(
            self.name, model, index, form=self.form, rerank=self.rerank, candidates=self.candidates
        )


def _components(model: Path) -> tuple[tuple[str, str], ...]:
    """(name, digest) of the components in a model folder."""
    return tuple((str(name), read_manifest(model / str(name)).digest) for name in list_components(model))

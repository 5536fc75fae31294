"""k1 and b of BM25 over the fields of the papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cocite.bounds import Factor, Share
from cocite.config import Settings, flat
from cocite.retrieval.engines.bm25 import Bm25Index


class Bm25Settings(Settings):
    """Of one field."""

    k1: Factor = 1.2
    """How soon a further occurrence of a word stops counting; 0: it never counts."""
    b: Share = 0.75
    """How far a long text must have more of a word to score alike, from not at all to in proportion."""


class Bm25Fields(Settings):
    """Of each of :data:`cocite.retrieval.index.index.FIELDS`; citing sentences and anchor texts have the usual ones."""

    text: Bm25Settings = Bm25Settings()
    """Title and abstract."""
    title: Bm25Settings = Bm25Settings()
    abstract: Bm25Settings = Bm25Settings()

    @classmethod
    def given(cls, values: Sequence[str], *, option: str) -> Bm25Fields:
        """From ``FIELD.k1=VALUE`` and ``FIELD.b=VALUE``."""
        return cls.parse({}, overrides=values, option=option)

    @classmethod
    def of(cls, papers: Mapping[str, Bm25Index]) -> Bm25Fields:
        """Those that some indexes were made with; a field that is not there has the usual ones."""
        return cls.model_validate(
            {
                name: {"k1": index.k1, "b": index.b}
                for name, index in papers.items()
                if name in cls.model_fields
            }
        )

    def changed(self) -> dict[str, float]:
        """Those that are not the usual ones, as ``{"text.k1": 2.0}``."""
        usual = flat(Bm25Fields().model_dump())
        return {name: value for name, value in flat(self.model_dump()).items() if value != usual[name]}

"""Settings of BM25 for the fields of the papers: k1 and b."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cocite.bounds import Factor, Share
from cocite.config import Settings, flat
from cocite.retrieval.engines.bm25 import Bm25Index


class Bm25Settings(Settings):
    """The parameters of BM25 for one field.

    Example:
        >>> Bm25Settings(b=0.4)
        Bm25Settings(k1=1.2, b=0.4)
    """

    k1: Factor = 1.2
    """How soon a further occurrence of a word stops counting; 0: it never counts."""
    b: Share = 0.75
    """How far a long text must have more of a word to score alike, from not at all to in proportion."""


USUAL = Bm25Settings()
"""The parameters of a field for which none are chosen."""


class Bm25Fields(Settings):
    """k1 and b of each of the papers' fields, :data:`cocite.retrieval.index.documents.FIELDS`.

    Citing sentences and anchor texts always have the usual ones.

    Example:
        >>> Bm25Fields.parse({}, overrides=["text.k1=2"]).changed()
        {'text.k1': 2.0}
    """

    text: Bm25Settings = Bm25Settings()
    """Title and abstract."""
    title: Bm25Settings = Bm25Settings()
    abstract: Bm25Settings = Bm25Settings()

    @classmethod
    def from_options(cls, values: Sequence[str], *, option: str) -> Bm25Fields:
        """Read ``FIELD.k1=VALUE`` and ``FIELD.b=VALUE``.

        Args:
            values: what a user wrote.
            option: the option it was written for, for messages.

        Raises:
            InputError: a value is out of bounds, or no field or parameter has the name.
        """
        return cls.parse({}, overrides=values, option=option)

    @classmethod
    def of(cls, papers: Mapping[str, Bm25Index]) -> Bm25Fields:
        """The parameters that some indexes were built with; a field that is not there has the usual ones."""
        return cls.model_validate(
            {
                name: {"k1": index.k1, "b": index.b}
                for name, index in papers.items()
                if name in cls.model_fields
            }
        )

    def changed(self) -> dict[str, float]:
        """The parameters that are not the usual ones, as ``{"text.k1": 2.0}``."""
        usual = flat(Bm25Fields().model_dump())
        return {name: value for name, value in flat(self.model_dump()).items() if value != usual[name]}

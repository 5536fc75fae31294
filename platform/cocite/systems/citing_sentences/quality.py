"""How often a classifier of sentences that need a citation is right, as its manifest has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Quality:
    """How often a classifier is right in papers that neither its weights nor its threshold were chosen on.

    Attributes:
        precision: share of the sentences that it picks which cite, from 0 to 1.
        recall: share of the sentences that cite which it picks, from 0 to 1.

    Example:
        >>> Quality(0.4701, 0.532).sentence
        'In papers that the model has not seen, 47 of 100 sentences that it picks cite; it picks 53 of 100 that cite.'
    """

    precision: float
    recall: float

    @property
    def sentence(self) -> str:
        """The same for an author to read."""
        picked, found = round(100 * self.precision), round(100 * self.recall)
        return (
            f"In papers that the model has not seen, {picked} of 100 sentences that it picks cite; it picks {found} "
            "of 100 that cite."
        )

    @classmethod
    def of_meta(cls, meta: Mapping[str, Any]) -> Self | None:
        """What the ``meta`` of a classifier's manifest says; None where nothing was measured.

        A classifier that was measured with other shares of sentences than papers have (``negatives``) says nothing of a
        draft.

        Example:
            >>> Quality.of_meta({"details": {"test P": 0.47, "test R": 0.532}})
            Quality(precision=0.47, recall=0.532)
        """
        recipe, details = meta.get("recipe"), meta.get("details")
        if not isinstance(details, Mapping) or (isinstance(recipe, Mapping) and recipe.get("negatives")):
            return None
        shares = [details.get(name) for name in ("test P", "test R")]
        precision, recall = (float(one) if isinstance(one, int | float) else -1.0 for one in shares)
        return cls(precision, recall) if 0 <= precision <= 1 and 0 <= recall <= 1 else None

"""The result of comparing a sweep's best model with the present holder of a registered alias."""

from __future__ import annotations

from dataclasses import dataclass

from cocite.evaluation.significance import Comparison


@dataclass(frozen=True)
class PromotionResult:
    """Whether a model took a registered alias, and on what evidence.

    Attributes:
        name: of the registered model.
        alias: that the model was compared for.
        won: whether the model holds the alias now.
        version: the version that holds the alias now.
        comparison: of the model with the previous holder on the same queries, tested over their citing papers; None
            where the alias had no holder, or ``why_not`` says why there is none.
        why_not: why the model was not compared with the holder, which keeps the alias then.

    Example:
        >>> print(PromotionResult("nnselect", "champion", won=True, version=1, comparison=None).sentence())
        nnselect@champion is version 1 now; there was none before it
        >>> import numpy as np
        >>> from cocite.evaluation.significance import compare
        >>> worse = compare(np.array([0.1, 0.2, 0.2]), np.array([0.4, 0.3, 0.5]))
        >>> print(PromotionResult("nnselect", "champion", won=False, version=1, comparison=worse).sentence())
        nnselect@champion stays version 1: 0.1667 against 0.4000 on 3 dev queries, p = 0.073
    """

    name: str
    alias: str
    won: bool
    version: int
    comparison: Comparison | None
    why_not: str = ""

    def sentence(self) -> str:
        """Say who holds the alias now, with both models' means and the p of their difference."""
        name = f"{self.name}@{self.alias}"
        c = self.comparison
        if self.why_not:
            return f"{name} stays version {self.version}, with which the best trial was not compared: {self.why_not}"
        if c is None:
            return f"{name} is version {self.version} now; there was none before it"
        figures = f"{c.mean:.4f} against {c.other:.4f} on {c.sample('dev queries')}, p = {c.p:.2g}"
        if self.won:
            return f"{name} is version {self.version} now: {figures}"
        return f"{name} stays version {self.version}: {figures}"

"""How much each parameter matters: what a forest that predicts the metric loses when it no longer knows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite_tuning.report.view import Column, View

LEAST = 10
"""Trials below which nothing is said."""
TRUSTED = 0.2
"""Explained variance below which the order of the parameters means little."""
FOLDS, TREES, REPEATS = 5, 60, 3


@dataclass(frozen=True)
class Importance:
    """What a sweep tells of its parameters.

    Attributes:
        trials: how many it rests on.
        explained: share of the metric's variance that the forest predicts of trials it did not see (R^2).
        parameters: (name, loss, deviation): what is lost of R^2 when the parameter is shuffled, mean and standard
            deviation over the folds; the most important first. Above 1 where a wrong value misleads the forest.
    """

    trials: int
    explained: float
    parameters: tuple[tuple[str, float, float], ...]

    @property
    def trusted(self) -> bool:
        """Whether the forest knows enough of the metric for its parameters to be compared."""
        return self.explained >= TRUSTED


def importance(view: View, *, seed: int = 0) -> Importance | None:
    """Permutation importance (Breiman, 2001) of a random forest, on trials that it did not see.

    The trials are cut into five folds; a forest grown on four of them predicts the fifth, with each parameter shuffled
    in turn. A parameter whose condition did not hold has a value of its own, below all others. Parameters that only
    matter together are each found important; two that the sampler drew alike share what they have.

    Returns:
        None with fewer than ten trials, no parameter that varies, or a metric that does not.
    """
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.inspection import permutation_importance
    from sklearn.metrics import r2_score
    from sklearn.model_selection import KFold

    count = len(view.compared)
    if count < LEAST or not view.columns or np.ptp(view.values) == 0:
        return None
    table = np.column_stack([_filled(column) for column in view.columns])
    losses, predicted = [], np.empty(count)
    for fold, (learned, tested) in enumerate(KFold(FOLDS, shuffle=True, random_state=seed).split(table)):
        forest = RandomForestRegressor(TREES, min_samples_leaf=2, random_state=seed + fold, n_jobs=1)
        forest.fit(table[learned], view.values[learned])
        predicted[tested] = forest.predict(table[tested])
        found = permutation_importance(
            forest,
            table[tested],
            view.values[tested],
            scoring="neg_mean_squared_error",
            n_repeats=REPEATS,
            random_state=seed,
            n_jobs=1,
        )
        losses.append(found.importances_mean / view.values.var())
    mean, deviation = np.mean(losses, axis=0), np.std(losses, axis=0)
    order = np.argsort(-mean, kind="stable").tolist()
    named = [(view.columns[i].name, float(mean[i]), float(deviation[i])) for i in order]
    return Importance(count, float(r2_score(view.values, predicted)), tuple(named))


def _filled(column: Column) -> NDArray[np.float64]:
    """The parameter's numbers, with one below all others where it has none."""
    numbers = column.numbers
    if column.logarithmic:
        numbers = np.log(numbers)
    known = numbers[~np.isnan(numbers)]
    span = np.ptp(known)
    return np.where(np.isnan(numbers), known.min() - span - 1, numbers)

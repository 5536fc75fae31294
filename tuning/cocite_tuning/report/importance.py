"""Measures how much each parameter matters: how much worse a forest predicts when the parameter is shuffled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite_tuning.report.view import Column, View

LEAST = 10
"""With fewer trials no importance is computed."""
TRUSTED = 0.2
"""Explained variance below which the order of the parameters means little."""
FOLDS, TREES, REPEATS = 5, 60, 3


@dataclass(frozen=True)
class Importance:
    """The importance of each parameter of a sweep.

    Attributes:
        trials: how many the importances are computed from.
        explained: share of the metric's variance that the forest predicts on trials it was not trained on (R^2).
        parameters: (name, loss, deviation): the loss of R^2 when the parameter is shuffled, mean and standard
            deviation over the folds; the most important first. A loss is above 1 where a wrong value misleads the
            forest.

    Example:
        >>> importance = Importance(60, 0.84, (("learning_rate", 1.1, 0.2), ("dimension", 0.3, 0.1)))
        >>> importance.trusted, importance.parameters[0][0]
        (True, 'learning_rate')
        >>> Importance(60, 0.04, importance.parameters).trusted  # the forest cannot predict the metric
        False
    """

    trials: int
    explained: float
    parameters: tuple[tuple[str, float, float], ...]

    @property
    def trusted(self) -> bool:
        """Whether the forest explains enough of the metric for its parameters to be compared."""
        return self.explained >= TRUSTED


def measure_importance(view: View, *, seed: int = 0) -> Importance | None:
    """Permutation importance (Breiman, 2001) of a random forest, on trials that it was not trained on.

    The trials are split into five folds; a forest trained on four of them predicts the fifth, with each parameter
    shuffled in turn. A parameter whose condition did not hold has a value of its own, below all others. Parameters that
    matter only together are each important; two that are correlated over the trials share their importance.

    Returns:
        None with fewer than ten trials, no parameter that varies, or a metric that does not vary.
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
    for fold, (trained, tested) in enumerate(KFold(FOLDS, shuffle=True, random_state=seed).split(table)):
        forest = RandomForestRegressor(TREES, min_samples_leaf=2, random_state=seed + fold, n_jobs=1)
        forest.fit(table[trained], view.values[trained])
        predicted[tested] = forest.predict(table[tested])
        result = permutation_importance(
            forest,
            table[tested],
            view.values[tested],
            scoring="neg_mean_squared_error",
            n_repeats=REPEATS,
            random_state=seed,
            n_jobs=1,
        )
        losses.append(result.importances_mean / view.values.var())
    mean, deviation = np.mean(losses, axis=0), np.std(losses, axis=0)
    order = np.argsort(-mean, kind="stable").tolist()
    parameters = [(view.columns[i].name, float(mean[i]), float(deviation[i])) for i in order]
    return Importance(count, float(r2_score(view.values, predicted)), tuple(parameters))


def ranked_columns(view: View, importance: Importance | None) -> list[Column]:
    """The parameters, the most important first; without importance in the order of the trials."""
    if importance is None:
        return view.columns
    rank = {name: i for i, (name, _, _) in enumerate(importance.parameters)}
    return sorted(view.columns, key=lambda column: rank[column.name])


def _filled(column: Column) -> NDArray[np.float64]:
    """(n,) the parameter's numbers; where a trial has none, a number below all others."""
    numbers = column.numbers
    if column.logarithmic:
        numbers = np.log(numbers)
    known = numbers[~np.isnan(numbers)]
    span = np.ptp(known)
    return np.where(np.isnan(numbers), known.min() - span - 1, numbers)

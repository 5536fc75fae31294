"""Draws the parameters of each trial by TPE or random search, given all earlier trials, those of past runs included."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from cocite_tuning.sweep.spaces import Space

Search = Literal["tpe", "random"]


class Sampler:
    """Draws parameters from a space; each draw depends on the seed, the trial's number, and the trials observed before.

    Ray's ``HyperOptSearch`` calls the same hyperopt functions, but it can learn of earlier trials only from a pickle of
    itself. This sampler is given them one by one (:meth:`observe`), so a sweep continues from its file of trials after
    any kind of failure; with ``random`` the continued sweep draws exactly what the uninterrupted one would have drawn.

    Args:
        space: the space to draw from.
        search: ``tpe`` (Bergstra et al. 2011) or ``random``.
        mode: whether a greater or a smaller value is better.
        seed: of all draws.
        startup: trials that are drawn at random before TPE begins; 20 is hyperopt's default.

    Example:
        Random search is reproducible from the seed and the number of the trial alone; TPE comes to prefer what did
        well.

        >>> space = Space.parse({"pooling": {"choice": ["mean", "max", "first"]}})
        >>> Sampler(space, "random", seed=1).draw(7) == Sampler(space, "random", seed=1).draw(7)
        True
        >>> sampler = Sampler(space, seed=0, startup=5)
        >>> for number in range(20):
        ...     params = sampler.draw(number)
        ...     sampler.observe(number, params, 1.0 if params["pooling"] == "max" else 0.0)
        >>> sum(sampler.draw(number)["pooling"] == "max" for number in range(20, 30)) > 5
        True
    """

    def __init__(
        self,
        space: Space,
        search: Search = "tpe",
        *,
        mode: Literal["max", "min"] = "max",
        seed: int = 0,
        startup: int = 20,
    ) -> None:
        import hyperopt

        logging.getLogger("hyperopt.tpe").setLevel(logging.WARNING)  # it logs a line for each draw
        self.space, self.search, self.seed, self.startup = space, search, seed, startup
        self._sign = -1.0 if mode == "max" else 1.0  # hyperopt minimises
        self._domain = hyperopt.base.Domain(lambda point: point, space.expression())
        self._trials = hyperopt.Trials()
        self._documents: dict[int, Any] = {}

    def draw(self, number: int) -> dict[str, Any]:
        """Draw the parameters of a trial, given its number.

        TPE counts a trial that is still running among the bad ones, so that parallel trials spread out.
        """
        from hyperopt import rand, tpe

        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        if self.search == "random":
            (document,) = rand.suggest([number], self._domain, self._trials, seed)
        else:
            (document,) = tpe.suggest(
                [number], self._domain, self._trials, seed, n_startup_jobs=self.startup, verbose=False
            )
        self._insert(number, document)
        return self.space.to_params(
            {label: values[0] for label, values in document["misc"]["vals"].items() if values}
        )

    def observe(self, number: int, params: Mapping[str, Any], value: float) -> None:
        """Record the value of a trial, drawn here or by another process.

        The sampler ignores parameters that the space cannot have drawn, such as a baseline's.

        Args:
            number: of the trial.
            params: of the trial.
            value: of the sweep's metric; NaN for a failed trial, which counts as a bad one.
        """
        import hyperopt

        self.add_running(number, params)
        document = self._documents.get(number)
        if document is None:
            return
        document["state"] = hyperopt.JOB_STATE_DONE
        document["result"] = (
            {"status": hyperopt.STATUS_OK, "loss": self._sign * value}
            if math.isfinite(value)
            else {"status": hyperopt.STATUS_FAIL}
        )
        self._trials.refresh()

    def add_running(self, number: int, params: Mapping[str, Any]) -> None:
        """Record that a trial which another process drew is still running."""
        point = self.space.to_point(params)
        if number in self._documents or point is None:
            return
        vals = {label: [point[label]] if label in point else [] for label in self._domain.params}
        idxs = {label: [number] * len(values) for label, values in vals.items()}
        misc = {"tid": number, "cmd": self._domain.cmd, "workdir": None, "idxs": idxs, "vals": vals}
        (document,) = self._trials.new_trial_docs([number], [None], [self._domain.new_result()], [misc])
        self._insert(number, document)

    def _insert(self, number: int, document: Any) -> None:
        self._trials.insert_trial_docs(
            [document]
        )  # hyperopt inserts a copy, which is the one to update later
        self._trials.refresh()
        self._documents[number] = self._trials.trials[-1]


def draw_random(space: Space, count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Draw ``count`` choices of parameters from a space at random.

    Example:
        >>> drawn = draw_random(Space.parse({"layers": {"uniformint": [1, 4]}}), 100)
        >>> sorted({params["layers"] for params in drawn})
        [1, 2, 3, 4]
    """
    sampler = Sampler(space, "random", seed=seed)
    return [sampler.draw(number) for number in range(count)]

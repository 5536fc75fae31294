"""Who draws the next trial: hyperopt's TPE, or chance, told of all trials before it however old they are."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from cocite_tuning.sweep.spaces import Space

Search = Literal["tpe", "random"]


class Sampler:
    """Draws parameters from a space; each draw hangs on the seed, its number, and what was told before it.

    Ray's ``HyperOptSearch`` asks the same function of hyperopt, but can be told of earlier trials through a pickle of
    itself alone. This one is told trial by trial: a sweep goes on from its file of trials after any kind of death, and
    with ``random`` it draws just what it would have drawn undisturbed.

    Args:
        space: what to draw from.
        search: ``tpe`` (Bergstra et al. 2011) or ``random``.
        mode: whether a greater or a smaller value is better.
        seed: of all draws.
        startup: trials that are drawn by chance before TPE begins, hyperopt's usual number.
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

        logging.getLogger("hyperopt.tpe").setLevel(logging.WARNING)  # it tells of each draw
        self.space, self.search, self.seed, self.startup = space, search, seed, startup
        self._sign = -1.0 if mode == "max" else 1.0
        self._domain = hyperopt.base.Domain(lambda point: point, space.expression())
        self._trials = hyperopt.Trials()
        self._docs: dict[int, Any] = {}

    def draw(self, number: int) -> dict[str, Any]:
        """Parameters for the trial of a number; TPE takes a trial whose value it does not know yet for a bad one."""
        from hyperopt import rand, tpe

        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        if self.search == "random":
            (doc,) = rand.suggest([number], self._domain, self._trials, seed)
        else:
            (doc,) = tpe.suggest(
                [number], self._domain, self._trials, seed, n_startup_jobs=self.startup, verbose=False
            )
        self._insert(number, doc)
        return self.space.params({label: vals[0] for label, vals in doc["misc"]["vals"].items() if vals})

    def tell(self, number: int, params: Mapping[str, Any], value: float) -> None:
        """What came of a trial, drawn here or elsewhere; NaN: it failed, and counts as bad.

        Parameters that the space cannot have drawn, such as a baseline's, are passed over.
        """
        import hyperopt

        self.expect(number, params)
        doc = self._docs.get(number)
        if doc is None:
            return
        doc["state"] = hyperopt.JOB_STATE_DONE
        doc["result"] = (
            {"status": hyperopt.STATUS_OK, "loss": self._sign * value}
            if math.isfinite(value)
            else {"status": hyperopt.STATUS_FAIL}
        )
        self._trials.refresh()

    def expect(self, number: int, params: Mapping[str, Any]) -> None:
        """A trial that another process drew is under way."""
        point = self.space.point(params)
        if number in self._docs or point is None:
            return
        vals = {label: [point[label]] if label in point else [] for label in self._domain.params}
        idxs = {label: [number] * len(values) for label, values in vals.items()}
        misc = {"tid": number, "cmd": self._domain.cmd, "workdir": None, "idxs": idxs, "vals": vals}
        (doc,) = self._trials.new_trial_docs([number], [None], [self._domain.new_result()], [misc])
        self._insert(number, doc)

    def _insert(self, number: int, doc: Any) -> None:
        self._trials.insert_trial_docs([doc])  # of a copy of it
        self._trials.refresh()
        self._docs[number] = self._trials.trials[-1]


def draws(space: Space, count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Some parameters of a space, drawn by chance."""
    sampler = Sampler(space, "random", seed=seed)
    return [sampler.draw(number) for number in range(count)]

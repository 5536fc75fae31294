"""The papers that can be reproduced, by name."""

from __future__ import annotations

import importlib
from typing import Any

from cocite.errors import InputError, nearest
from cocite_jobs.reproduction.plan import Plan, Setup
from cocite_jobs.reproduction.recipe_settings import check_settings

PAPERS = ("citeomatic", "nogueira", "hatten", "mp-bert4cr")
FEWEST_CITATIONS = "citeomatic"
"""The paper whose queries may be those with a least number of citations."""
COMPARE_ENCODERS = ("nogueira", "hatten", "mp-bert4cr")
"""The papers of which a table has a row for each of several encoders."""


def require_paper(name: str) -> None:
    """Refuse a name that is none of :data:`PAPERS`.

    Raises:
        InputError: it is none.

    Example:
        >>> require_paper("citeomattic")
        Traceback (most recent call last):
        ...
        cocite.errors.InputError: PAPER: no paper is called 'citeomattic' (did you mean 'citeomatic'?)
    """
    if name not in PAPERS:
        raise InputError(f"no paper is called {name!r}", where="PAPER", hint=nearest(name, PAPERS))


def plan_of(name: str, setup: Setup) -> Plan:
    """The plan of a paper; its module, which imports torch, is imported only here.

    Raises:
        InputError: no paper is called so, an encoder is named twice, or several for a paper that compares none, a
            least number of citations is given for another paper than Citeomatic, or a setting is of no recipe that the
            paper trains.
        ConfigError: a setting is not allowed in its recipe.
    """
    require_paper(name)
    for number, encoder in enumerate(setup.encoders):
        if encoder in setup.encoders[:number]:
            raise InputError(f"{encoder!r} is named twice", where="--encoder")
    if setup.more_encoders and name not in COMPARE_ENCODERS:
        raise InputError(
            f"{name} compares no encoders, and {len(setup.encoders)} are named",
            where="--encoder",
            hint=f"name one; {', '.join(COMPARE_ENCODERS[:-1])} and {COMPARE_ENCODERS[-1]} take several",
        )
    if setup.min_citations is not None and name != FEWEST_CITATIONS:
        raise InputError(
            f"{name} leaves out no query by its citations",
            where="--min-citations",
            hint=f"{FEWEST_CITATIONS} does",
        )
    module: Any = importlib.import_module(f"cocite_jobs.reproduction.{name.replace('-', '_')}")
    plan: Plan = module.plan(setup)
    check_settings(plan, setup)
    return plan

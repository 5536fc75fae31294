"""Search spaces, written in hyperopt's own terms with the values' own bounds, conditional choices included.

A space is a mapping from dotted keys (or nested mappings) to one term each::

    training.optimizer.learning_rate: {loguniform: [1.0e-4, 1.0e-1]}     # the bounds, not their logarithms
    model.dimension: {quniform: [25, 325, 25]}             # low, high, step
    objective.objective:
      choice:
        - value: paper
          then: {objective.gamma: {choice: [0.5, 1.0, 1.5]}}   # drawn only together with this option
        - in_batch
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cocite.errors import ConfigError, nearest

Point = Mapping[str, Any]
"""What hyperopt draws: label of a term -> the number drawn for it; for a choice, the index of the option."""

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "uniform": ("low", "high"),
    "loguniform": ("low", "high"),
    "quniform": ("low", "high", "step"),
    "qloguniform": ("low", "high", "step"),
    "normal": ("mean", "deviation"),
    "qnormal": ("mean", "deviation", "step"),
    "randint": ("low", "high"),
    "uniformint": ("low", "high"),
}
"""Kind of a term -> its arguments, in order. ``randint`` excludes ``high``, as in hyperopt; ``uniformint`` does not."""
CHOICES = ("choice", "pchoice")
TERMS = (*CHOICES, *ARGUMENTS)
"""All kinds of terms."""


@dataclass(frozen=True)
class Option:
    """One value of a choice.

    Attributes:
        value: of the parameter.
        weight: its probability; None: all options are equally likely.
        then: further terms, which are drawn only together with this option.

    Example:
        >>> nce = {"value": "nce", "then": {"scale": {"uniform": [1, 9]}}}
        >>> space = Space.parse({"loss": {"choice": ["margin", nce]}})
        >>> [(option.value, [term.key for term in option.then]) for option in space.terms[0].options]
        [('margin', []), ('nce', ['scale'])]
    """

    value: Any
    weight: float | None = None
    then: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Term:
    """How one parameter is drawn.

    Attributes:
        key: dotted name of the parameter.
        label: its name for hyperopt; unlike the key it is unique in a space with branches.
        kind: one of ``TERMS``.
        numbers: bounds and step, as :data:`ARGUMENTS` names them.
        options: of a choice.

    Example:
        >>> term = Term("model.dimension", "model.dimension", "quniform", numbers=(25, 325, 25))
        >>> term.step, term.extremes(), term.to_value(75.0)
        (25, (25, 325), 75)
    """

    key: str
    label: str
    kind: str
    numbers: tuple[float, ...] = ()
    options: tuple[Option, ...] = ()

    @property
    def step(self) -> float | None:
        """The distance of neighbouring values; None for a continuous range or a choice."""
        if "step" in ARGUMENTS.get(self.kind, ()):
            return self.numbers[-1]
        return 1 if self.kind in ("randint", "uniformint") else None

    def to_value(self, drawn: Any) -> Any:
        """The parameter's value for a number that hyperopt drew; an ``int`` where step and bounds are whole numbers."""
        if self.options:
            return self.options[int(drawn)].value
        if self.step is None:
            return float(drawn)
        if all(float(number).is_integer() for number in (self.step, *self._bounds)):
            return round(drawn)
        # Else three steps of 0.1 would be 0.30000000000000004, in commands too.
        return round(round(drawn / self.step) * self.step, 12)

    def to_drawn(self, value: Any) -> Any:
        """The number that hyperopt would have drawn for a value; None for a value that it cannot draw."""
        if self.options:
            indices = (i for i, option in enumerate(self.options) if _equal(option.value, value))
            return next(indices, None)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if self._bounds:
            low, high = self._bounds
            if not low <= value <= high or (self.kind == "randint" and value == high):
                return None
        return value

    def extremes(self) -> tuple[Any, ...]:
        """Values that a study must accept: each option of a choice, the bounds of a range, the mean of a normal."""
        if self.options:
            return tuple(option.value for option in self.options)
        last = self._bounds[1:] if self.kind != "randint" else (self.numbers[1] - 1,)
        return tuple(self.to_value(number) for number in (self.numbers[0], *last))

    def expression(self) -> Any:
        """The term as a hyperopt expression."""
        from hyperopt import hp

        if self.options:
            branches = [{term.label: term.expression() for term in option.then} for option in self.options]
            if self.kind == "pchoice":
                weights = [option.weight for option in self.options]
                return hp.pchoice(self.label, list(zip(weights, branches, strict=True)))
            return hp.choice(self.label, branches)
        numbers: list[float] = list(self.numbers)
        if "log" in self.kind:
            # hyperopt takes the logarithms of the bounds.
            numbers[:2] = [math.log(number) for number in numbers[:2]]
        if self.step == 1:
            numbers = [int(number) if float(number).is_integer() else number for number in numbers]
        return getattr(hp, self.kind)(self.label, *numbers)

    @property
    def _bounds(self) -> tuple[float, ...]:
        return self.numbers[:2] if "normal" not in self.kind else ()


@dataclass(frozen=True)
class Space:
    """The parameters of a sweep and how each is drawn.

    Attributes:
        terms: the unconditional ones; conditional terms hang on their options.

    Example:
        >>> space = Space.parse({"k1": {"uniform": [0.5, 3]}, "form": {"choice": ["title", "abstract"]}})
        >>> space.keys()
        ['k1', 'form']
        >>> space.to_params({"k1": 1.25, "form": 1})
        {'k1': 1.25, 'form': 'abstract'}
    """

    terms: tuple[Term, ...]

    @classmethod
    def parse(cls, data: Mapping[str, Any], *, where: str = "space") -> Space:
        """Read a space from a sweep file.

        Raises:
            ConfigError: an entry is no term, or its arguments do not fit its kind.
        """
        terms = _terms(data, where, within="")
        if not terms:
            raise ConfigError("names no parameter", where=where, hint="such as k1: {uniform: [0.5, 2]}")
        return cls(terms)

    def all_terms(self) -> Iterator[Term]:
        """Each term, conditional ones included."""
        return _with_conditional(self.terms)

    def keys(self) -> list[str]:
        """The dotted names of all parameters, each once."""
        return list(dict.fromkeys(term.key for term in self.all_terms()))

    def expression(self) -> dict[str, Any]:
        """The space as hyperopt expressions, by label."""
        return {term.label: term.expression() for term in self.terms}

    def to_params(self, point: Point) -> dict[str, Any]:
        """Dotted name -> value for a point that hyperopt drew; parameters whose condition does not hold are absent."""
        result: dict[str, Any] = {}

        def add(terms: Sequence[Term]) -> None:
            for term in terms:
                drawn = point[term.label]
                result[term.key] = term.to_value(drawn)
                if term.options:
                    add(term.options[int(drawn)].then)

        add(self.terms)
        return result

    def to_point(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """The point that hyperopt would have drawn for some parameters; None where they are not of this space."""
        result: dict[str, Any] = {}

        def add(terms: Sequence[Term]) -> bool:
            for term in terms:
                number = term.to_drawn(params[term.key]) if term.key in params else None
                if number is None:
                    return False
                result[term.label] = number
                if term.options and not add(term.options[number].then):
                    return False
            return True

        if not add(self.terms) or set(self.to_params(result)) != set(params):
            return None
        return result


def _terms(data: Any, where: str, *, within: str) -> tuple[Term, ...]:
    if not isinstance(data, Mapping):
        raise ConfigError(f"{data!r} are no parameters", where=where, hint="keys with a term each")
    return tuple(
        _term(key, spec, f"{where}.{key}", within=within) for key, spec in _leaves(data, where).items()
    )


def _leaves(data: Mapping[str, Any], where: str, prefix: str = "") -> dict[str, tuple[str, Any]]:
    """Dotted key -> (name of the term, its arguments)."""
    result: dict[str, tuple[str, Any]] = {}
    for name, spec in data.items():
        key = f"{prefix}{name}"
        if not isinstance(spec, Mapping):
            raise ConfigError(
                f"{spec!r} is no term",
                where=f"{where}.{key}",
                hint=f"such as {{choice: [{spec}]}}; what is fixed stands in study.set",
            )
        named = [term for term in spec if term in TERMS]
        if named and len(spec) == 1:
            result[key] = (named[0], spec[named[0]])
        elif named:
            raise ConfigError(f"{named[0]} stands beside another key", where=f"{where}.{key}")
        elif all(not isinstance(inner, Mapping) for inner in spec.values()):
            first = str(next(iter(spec), ""))
            raise ConfigError(
                f"no term is called {first!r}", where=f"{where}.{key}", hint=nearest(first, TERMS)
            )
        else:
            result |= _leaves(spec, where, f"{key}.")
    return result


def _term(key: str, spec: tuple[str, Any], where: str, *, within: str) -> Term:
    kind, arguments = spec
    label = f"{key} [{within}]" if within else key
    if not isinstance(arguments, Sequence) or isinstance(arguments, str) or not arguments:
        raise ConfigError(f"{kind} takes a list, got {arguments!r}", where=where)
    if kind in CHOICES:
        return Term(key, label, kind, options=_options(key, kind, arguments, where, within))
    return Term(key, label, kind, numbers=_numbers(kind, arguments, where))


def _options(key: str, kind: str, entries: Sequence[Any], where: str, within: str) -> tuple[Option, ...]:
    options = []
    for i, entry in enumerate(entries):
        weight: float | None = None
        item = entry
        if kind == "pchoice":
            if not isinstance(entry, Sequence) or len(entry) != 2 or not _is_number(entry[0]):
                raise ConfigError(f"{entry!r} is not of the form [probability, option]", where=where)
            weight, item = float(entry[0]), entry[1]
        then: tuple[Term, ...] = ()
        if isinstance(item, Mapping):
            if "value" not in item or set(item) - {"value", "then"}:
                raise ConfigError(
                    f"{dict(item)!r} is no option", where=where, hint="{value: x, then: {key: {...}}}"
                )
            inside = f"{within}, {key} {i}" if within else f"{key} {i}"
            then = _terms(item.get("then") or {}, f"{where}[{i}]", within=inside)
            item = item["value"]
        options.append(Option(item, weight, then))
    if any(_equal(a.value, b.value) for i, a in enumerate(options) for b in options[:i]):
        raise ConfigError("an option is given twice", where=where)
    if kind == "pchoice" and not math.isclose(sum(option.weight or 0 for option in options), 1, abs_tol=1e-6):
        raise ConfigError("the probabilities do not sum to 1", where=where)
    return tuple(options)


def _numbers(kind: str, arguments: Sequence[Any], where: str) -> tuple[float, ...]:
    names = ARGUMENTS[kind]
    if kind == "randint" and len(arguments) == 1:
        arguments = [0, *arguments]
    if len(arguments) != len(names) or not all(_is_number(number) for number in arguments):
        raise ConfigError(f"{kind} takes [{', '.join(names)}], got {list(arguments)!r}", where=where)
    numbers = tuple(arguments)
    low, high = numbers[:2]
    if "normal" in kind:
        if high <= 0:
            raise ConfigError(f"the deviation {high!r} is not above 0", where=where)
    elif low >= high:
        raise ConfigError(f"the lower bound {low!r} is not below the upper one {high!r}", where=where)
    if "log" in kind and low <= 0:
        raise ConfigError(f"the bounds of {kind} are the values', not their logarithms: {low!r} is not above 0",
                          where=where)  # fmt: skip
    if "int" in kind and not all(float(number).is_integer() for number in numbers):
        raise ConfigError(f"{kind} takes whole numbers, got {list(arguments)!r}", where=where)
    if "step" in names:
        step = numbers[-1]
        if step <= 0:
            raise ConfigError(f"the step {step!r} is not above 0", where=where)
        for bound in numbers[:2] if "normal" not in kind else ():
            # hyperopt rounds a draw to the next multiple of the step, which may lie outside.
            if not math.isclose(bound / step, round(bound / step), abs_tol=1e-9):
                raise ConfigError(f"the bound {bound!r} is no multiple of the step {step!r}", where=where)
    return numbers


def _with_conditional(terms: Sequence[Term]) -> Iterator[Term]:
    for term in terms:
        yield term
        for option in term.options:
            yield from _with_conditional(option.then)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are equal, where True is not 1 as it is to Python, and a tuple equals a list."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)

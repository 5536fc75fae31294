"""Every setting and every numeric option has bounds, and what lies outside is refused in a sentence."""

from __future__ import annotations

import enum
import importlib
import math
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
import typer
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from typer.models import ParameterInfo

from cocite import bounds
from cocite.cli import COMMANDS
from cocite.config import Settings
from cocite.errors import ConfigError

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "cocite": "platform",
    "cocite_mlflow": "platform",
    "cocite_jobs": "jobs",
    "cocite_tuning": "tuning",
    "cocite_serve": "serve",
}
FREE = {
    "Sweep.space": "the terms of a search space, which Space.parse checks",
    "Sweep.start": "parameters, which check_space holds against the settings that they stand for",
    "ProtocolSettings.short": "parameters, as above",
    "ProtocolSettings.full": "parameters, as above",
    "TrainingStudySettings.set": "values of a recipe, which the recipe checks",
}
"""Fields that hold values of any type, and why."""
STUDY = {"kind": "training", "recipe": "nnselect"}


def all_settings() -> list[type[Settings]]:
    """Every settings class of the packages."""
    for package, folder in PACKAGES.items():
        for path in sorted((ROOT / folder / package).rglob("*.py")):
            if path.name != "__main__.py":
                parts = path.relative_to(ROOT / folder).with_suffix("").parts
                importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    found, left = set[type[Settings]](), [Settings]
    while left:
        for cls in left.pop().__subclasses__():
            found.add(cls)
            left.append(cls)
    mine = [cls for cls in found if cls.__module__.split(".")[0] in PACKAGES]
    return sorted(mine, key=lambda cls: (cls.__module__, cls.__name__))


def split(annotation: Any, metadata: tuple[Any, ...] = ()) -> tuple[Any, tuple[Any, ...]]:
    """A type without ``Annotated``, and all its constraints."""
    flat: list[Any] = []
    for each in metadata:
        flat += each.metadata if isinstance(each, FieldInfo) else [each]
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return split(inner, (*more, *flat))
    return annotation, tuple(flat)


def limit(metadata: tuple[Any, ...], *names: str) -> Any:
    """The first constraint of some names: ``(name, value)``, or None."""
    return next(
        (
            (name, value)
            for each in metadata
            for name in names
            if (value := getattr(each, name, None))
            is not None  # StringConstraints has all, unset ones as None
        ),
        None,
    )


def loose(annotation: Any, metadata: tuple[Any, ...] = ()) -> Iterator[str]:
    """What has no bounds within a type."""
    kind, metadata = split(annotation, metadata)
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in (bool, type(None)) or origin is Literal:
        return
    if origin in (Union, types.UnionType):
        for member in arguments:
            yield from loose(member, metadata)
    elif kind in (int, float):
        if not limit(metadata, "ge", "gt") or not limit(metadata, "le", "lt"):
            yield f"a {kind.__name__} without both bounds"
    elif kind is str:
        if not limit(metadata, "max_length"):
            yield "a string of any length"
    elif kind is Path:
        if not set(metadata) & set(split(bounds.FilePath)[1]):
            yield "a path that is not checked"
    elif origin in (tuple, list, dict):
        fixed = origin is tuple and Ellipsis not in arguments
        if not fixed and not limit(metadata, "max_length"):
            yield f"a {origin.__name__} of any length"
        for argument in arguments:
            if argument is not Ellipsis:
                yield from loose(argument)
    elif not (isinstance(kind, type) and issubclass(kind, Settings | enum.Enum)):
        yield f"a type without bounds: {kind!r}"


def good(annotation: Any, metadata: tuple[Any, ...] = ()) -> Any:
    """A value that a type takes."""
    kind, metadata = split(annotation, metadata)
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is bool:
        return True
    if origin is Literal:
        return arguments[0]
    if origin in (Union, types.UnionType):
        return good(arguments[0], metadata)
    if kind in (int, float):
        return limit(metadata, "le", "lt")[1] / 2 if kind is float else limit(metadata, "le", "lt")[1] - 1
    if kind is str:
        return "a" * max(1, (limit(metadata, "min_length") or ("", 1))[1])  # a digit of a hash, too
    if kind is Path:
        return "folder"
    if origin is tuple and Ellipsis not in arguments:
        return [good(argument) for argument in arguments]
    if origin in (tuple, list):
        return [good(arguments[0])]
    if origin is dict:
        return {"x": 1 if arguments[1] is Any else good(arguments[1])}
    if kind is Settings:
        return STUDY
    if issubclass(kind, enum.Enum):
        return next(iter(kind)).value
    return required(kind)


def required(cls: type[BaseModel]) -> dict[str, Any]:
    """The least data that a class takes."""
    fields = cls.model_fields.items()
    return {info.alias or name: good(info.annotation, (info,)) for name, info in fields if info.is_required()}


def bad(annotation: Any, metadata: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Values just outside what a type takes."""
    kind, metadata = split(annotation, metadata)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        yield "none of them"
    elif origin in (Union, types.UnionType):
        for member in arguments:
            for value in () if member is type(None) else bad(member, metadata):
                # What one member refuses, another may take: a share of 1.0 is one step.
                if not any(takes(other, value) for other in arguments if other is not member):
                    yield value
    elif kind in (int, float):
        (below, low), (above, high) = limit(metadata, "ge", "gt"), limit(metadata, "le", "lt")
        step = (
            (lambda value, way: value + way)
            if kind is int
            else (lambda v, way: math.nextafter(v, way * math.inf))
        )
        yield low if below == "gt" else step(low, -1)
        yield high if above == "lt" else step(high, 1)
        yield from (math.nan, math.inf, -math.inf, 1e300, "many")
    elif kind is str:
        yield "x" * (limit(metadata, "max_length")[1] + 1)
        if limit(metadata, "min_length"):
            yield ""
    elif kind is Path:
        yield from ("", "a\0b", "x" * 5000)
    elif origin is tuple and Ellipsis not in arguments:
        fine = good(kind)
        yield fine[:-1]
        for i, argument in enumerate(arguments):
            yield from ([*fine[:i], value, *fine[i + 1 :]] for value in bad(argument))
    elif origin in (tuple, list):
        yield good(kind) * (limit(metadata, "max_length")[1] + 1)
        if limit(metadata, "min_length"):
            yield []
        yield from ([value] for value in bad(arguments[0]))
    elif origin is dict:
        if limit(metadata, "min_length"):
            yield {}
        yield from ({value: 1} for value in bad(arguments[0]))
        yield from ({"x": value} for value in (() if arguments[1] is Any else bad(arguments[1])))
    elif kind is bool or kind is Settings or issubclass(kind, enum.Enum | Settings):
        yield "none of them"


def takes(annotation: Any, value: Any) -> bool:
    try:
        TypeAdapter(annotation).validate_python(value)
    except ValidationError:
        return False
    return True


@pytest.fixture(scope="module")
def classes() -> list[type[Settings]]:
    return all_settings()


def test_every_field_of_every_settings_class_has_bounds(classes: list[type[Settings]]) -> None:
    assert len(classes) > 60
    found = {
        f"{cls.__name__}.{name}": problems
        for cls in classes
        for name, info in cls.model_fields.items()
        if (problems := list(loose(info.annotation, (info,))))
    }
    assert {key: what for key, what in found.items() if key not in FREE} == {}
    assert set(FREE) == set(found), "no longer free: take it off the list"


class Loose(Settings):
    whole: int = Field(1, ge=1)
    number: float = Field(1, le=1)
    text: str = Field("x", min_length=1)
    path: Path = Path("x")
    pair: tuple[int, int] = (1, 2)
    row: tuple[bool, ...] = ()
    maybe: Annotated[int, Field(ge=0)] | None = None
    table: dict[bounds.Name, Any] = Field(default={}, max_length=3)
    anything: object = None


def test_the_walk_finds_what_has_no_bounds() -> None:
    assert [
        name for name, info in Loose.model_fields.items() if list(loose(info.annotation, (info,)))
    ] == list(Loose.model_fields)


def test_every_default_lies_within_its_bounds(classes: list[type[Settings]]) -> None:
    for cls in classes:
        for name, info in cls.model_fields.items():
            if not info.is_required():
                value = info.get_default(call_default_factory=True)
                kind, metadata = split(info.annotation, (info,))
                bounded = Annotated[(kind, *metadata)] if metadata else kind
                assert takes(bounded, value), f"{cls.__name__}.{name}"


def test_a_value_outside_its_bounds_is_refused_with_its_key(classes: list[type[Settings]]) -> None:
    taken: list[str] = []
    for cls in classes:
        for name, info in cls.model_fields.items():
            key = info.alias or name
            for value in bad(info.annotation, (info,)):
                try:
                    cls.parse(required(cls) | {key: value})
                except ConfigError as error:
                    if not re.search(rf"\b{key}\b", error.message):
                        taken.append(f"{cls.__name__}.{key}={value!r:.40}: {error}")
                else:
                    taken.append(f"{cls.__name__}.{key}={value!r:.40}")
    assert taken == []


# -- options of the command line ------------------------------------------------------------------------------


def options(app: typer.Typer) -> Iterator[tuple[str, Any, ParameterInfo]]:
    """Name, type and description of each parameter of an app's commands."""
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from options(group.typer_instance)
    for command in app.registered_commands:
        assert command.callback is not None
        hints = get_type_hints(command.callback, include_extras=True)
        for name, hint in hints.items():
            for part in get_args(hint) if get_origin(hint) is Annotated else ():
                if isinstance(part, ParameterInfo):
                    yield f"{command.callback.__module__}.{command.callback.__name__} {name}", hint, part


def test_every_numeric_option_of_every_command_has_bounds() -> None:
    seen, found = 0, []
    for module, attribute in (entry[0].split(":") for entry in COMMANDS.values()):
        for name, hint, info in options(getattr(importlib.import_module(module), attribute)):
            kind = get_args(hint)[0]
            if {int, float} & {kind, *get_args(kind)}:
                seen += 1
                if info.min is None or info.max is None:
                    found.append(name)
    assert found == []
    assert seen > 20

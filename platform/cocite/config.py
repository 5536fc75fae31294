"""Typed settings: YAML in, validated models out, with dotted overrides and errors that name the key.

Every settings class of cocite derives from :class:`Settings`. A misspelt key is refused with the nearest
right one; a wrong value with its path and what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from cocite.errors import ConfigError, NotFoundError, nearest

MOST_VALUES = 100_000
"""Values of a YAML file, every alias written out."""


class Settings(BaseModel):
    """Base of all settings: frozen, and closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Self:
        """Read a YAML file and apply ``key.path=value`` overrides (values are parsed as YAML)."""
        return cls.parse(with_overrides(read_yaml(Path(path)), overrides), where=str(path))

    @classmethod
    def parse(cls, data: Mapping[str, Any], *, where: str | None = None) -> Self:
        """Validate plain data; the first mistake is told as a :class:`ConfigError`."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise _explain(cls, error, where) from error


class _Loader(yaml.SafeLoader):
    """The safe loader, except that a key given twice is a mistake rather than a silent choice of the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As usual, after looking at the keys."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(
                    problem="a key is a list or a mapping", problem_mark=key.start_mark
                )
            if key.tag != "tag:yaml.org,2002:merge" and key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key.value!r} is given twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


class _TooLargeError(Exception):
    """More values than settings have."""


def _refuse_large(data: Any) -> None:
    """Refuse aliases that hold themselves, or one another so often that no memory would hold them written out.

    Raises:
        _TooLargeError: there are more than :data:`MOST_VALUES` values.
    """
    left = MOST_VALUES
    waiting = [data]
    while waiting:
        value = waiting.pop()
        left -= 1
        if left < 0:
            raise _TooLargeError
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()


def read_yaml(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file; an empty file has none."""
    try:
        # A subclass of the safe loader: it builds plain values and nothing else.
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
        _refuse_large(data)
    except FileNotFoundError as error:
        raise NotFoundError("no such file", where=str(path)) from error
    except (IsADirectoryError, UnicodeDecodeError) as error:
        raise ConfigError("is not a text file", where=str(path), hint="name a YAML file") from error
    except (RecursionError, _TooLargeError) as error:
        raise ConfigError("is nested too deep, or an alias repeats too much", where=str(path)) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise ConfigError(
            f"not valid YAML: {getattr(error, 'problem', None) or error}", where=where
        ) from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError("must hold keys and values", where=str(path))
    return data


def with_overrides(
    data: Mapping[str, Any], overrides: Sequence[str], *, where: str = "override"
) -> dict[str, Any]:
    """A copy of ``data`` with each ``key.path=value`` set; ``where`` names them in errors."""
    result = _copy(data)
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not all(part.strip() for part in key.split(".")):
            raise ConfigError(f"{override!r} is not of the form key.path=value", where=where)
        try:
            value = yaml.safe_load(text)
            _refuse_large(value)
        except (yaml.YAMLError, RecursionError, _TooLargeError) as error:
            raise ConfigError(
                f"the value of {key!r} is not valid YAML: {_shown(text)}", where=where
            ) from error
        result = with_values(result, {key: value})
    return result


def with_values(data: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of ``data`` with each value set at its dotted key."""
    result = _copy(data)
    for key, value in values.items():
        *parents, last = [part.strip() for part in key.split(".")]
        node = result
        for parent in parents:
            if node.get(parent) is None:  # absent, or a key with nothing under it
                node[parent] = {}
            child = node[parent]
            if not isinstance(child, dict):
                raise ConfigError(f"{parent!r} in {key!r} holds a value, not further keys", where="override")
            node = child
        node[last] = value
    return result


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, with dotted keys."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        result |= (
            flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
        )
    return result


def leaves(cls: type[BaseModel], prefix: str = "") -> dict[str, Any]:
    """Dotted key -> annotation (with its constraints) of each setting that holds a value, not further settings."""
    result: dict[str, Any] = {}
    for name, info in cls.model_fields.items():
        inner = _models(info.annotation)
        if not inner:
            result[f"{prefix}{name}"] = Annotated[info.annotation, info]
        for model in sorted(inner, key=lambda model: model.__qualname__):
            result |= leaves(model, f"{prefix}{name}.")
    return result


def _copy(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, Mapping) else value for key, value in data.items()}


def _explain(cls: type[BaseModel], error: ValidationError, where: str | None) -> ConfigError:
    """The first mistake as a sentence, with the right key where one is misspelt."""
    first = error.errors(include_url=False)[0]
    location = [str(part) for part in first["loc"]]
    path = ".".join(location)
    if first["type"] == "extra_forbidden":
        known = _keys_at(cls, location[:-1])
        return ConfigError(
            f"unknown key {path!r}", where=where, hint=nearest(location[-1], known) if known else None
        )
    if first["type"] == "missing":
        return ConfigError(f"the key {path!r} is missing", where=where)
    message = first["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    value = f", got {_shown(first['input'])}" if location else ""
    return ConfigError(f"{path}: {message}{value}" if path else message, where=where)


def _shown(value: Any) -> str:
    """A value in an error message, cut when it is long."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _keys_at(cls: type[BaseModel], location: Sequence[str]) -> set[str]:
    """The keys that are known where ``location`` leads, through lists, unions and their tags."""
    models = {cls}
    for key in location:
        inner = [model.model_fields[key].annotation for model in models if key in model.model_fields]
        if (
            inner
        ):  # else the key is a position in a list or the tag of a union, whose members are here already
            models = {found for annotation in inner for found in _models(annotation)}
    return {name for model in models for name in model.model_fields}


def _models(annotation: Any) -> set[type[BaseModel]]:
    """The settings classes that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation}
    return {found for argument in get_args(annotation) for found in _models(argument)}

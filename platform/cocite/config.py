"""Typed settings: YAML in, validated models out, with dotted overrides and errors that name the key.

Every settings class of cocite derives from :class:`Settings`. A misspelt key is refused with the nearest
right one; a wrong value with its path and what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from cocite.errors import ConfigError, NotFoundError, nearest

T = TypeVar("T", bound="Settings")


class Settings(BaseModel):
    """Base of all settings: frozen, and closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Self:
        """Read a YAML file and apply ``key.path=value`` overrides (values are parsed as YAML)."""
        path = Path(path)
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise NotFoundError("no such file", where=str(path)) from error
        except yaml.YAMLError as error:
            raise ConfigError(f"not valid YAML: {error}", where=str(path)) from error
        if data is None:
            data = {}
        if not isinstance(data, dict):
            raise ConfigError("must hold keys and values", where=str(path))
        return cls.parse(with_overrides(data, overrides), where=str(path))

    @classmethod
    def parse(cls, data: Mapping[str, Any], *, where: str | None = None) -> Self:
        """Validate plain data; the first mistake is told as a :class:`ConfigError`."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise _explain(cls, error, where) from error


def with_overrides(data: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """A copy of ``data`` with each ``key.path=value`` set."""
    result = _copy(data)
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise ConfigError(f"{override!r} is not of the form key.path=value", where="override")
        *parents, last = key.strip().split(".")
        node = result
        for parent in parents:
            child = node.setdefault(parent, {})
            if not isinstance(child, dict):
                raise ConfigError(f"{parent!r} in {key!r} holds a value, not further keys", where="override")
            node = child
        try:
            node[last] = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"the value of {key!r} is not valid YAML: {text!r}", where="override") from error
    return result


def _copy(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, Mapping) else value for key, value in data.items()}


def _explain(cls: type[BaseModel], error: ValidationError, where: str | None) -> ConfigError:
    first = error.errors(include_url=False)[0]
    location = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        parent = _model_at(cls, location[:-1])
        hint = nearest(location[-1], parent.model_fields) if parent else None
        return ConfigError(f"unknown key {'.'.join(location)!r}", where=where, hint=hint)
    path = ".".join(location)
    value = f", got {first['input']!r}" if location and first["type"] != "missing" else ""
    message = first["msg"][0].lower() + first["msg"][1:]
    return ConfigError(f"{path}: {message}{value}" if path else message, where=where)


def _model_at(cls: type[BaseModel], location: Sequence[str]) -> type[BaseModel] | None:
    """The settings class that the keys of ``location`` lead to, if every step is one."""
    for key in location:
        field = cls.model_fields.get(key)
        annotation = field.annotation if field else None
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        found = [c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)]
        if not found:
            return None
        cls = found[0]
    return cls

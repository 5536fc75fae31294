"""Typed settings: validated models of plain data, with dotted overrides and errors that name the key.

Every settings class of cocite derives from :class:`Settings`. A misspelt key is refused with the nearest
right one; a wrong value with its path and what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from cocite.errors import ConfigError, nearest, without_passwords
from cocite.yaml_files import key_line, parse_yaml, read_yaml


@dataclass(frozen=True)
class Source:
    """The origin of the values of some settings, for error messages.

    Attributes:
        where: the YAML file that the values were read from, or what else they belong to.
        data: the values of the file alone.
        overrides: dotted key -> the override's text and where it was given, in the order in which they were applied.
        below: keys that lead from ``data`` to these settings, where they are part of others.

    Example:
        >>> from pathlib import Path
        >>> from cocite.config import Source
        >>> _ = Path("recipe.yaml").write_text("loop:\\n  epochs: 3\\n  rate: 0.1\\n")
        >>> overrides = {"loop.epochs": ("loop.epochs=many", "on the command line")}
        >>> source = Source(Path("recipe.yaml"), {"loop": {"epochs": 3, "rate": 0.1}}, overrides)
        >>> source.origin("loop", "epochs"), source.section("loop").origin("rate")
        ('loop.epochs=many on the command line', 'recipe.yaml:3')
    """

    where: str | Path | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    below: tuple[str, ...] = ()

    def section(self, *keys: str) -> Source:
        """The source of the settings below some keys."""
        return replace(self, below=(*self.below, *keys))

    def origin(self, *keys: str) -> str | None:
        """The origin of the value at some keys: the override that set it, or the file with the line."""
        whole = [*self.below, *keys]
        for key, (text, where) in reversed(list(self.overrides.items())):
            if key.split(".") == whole[: key.count(".") + 1]:
                return f"{text} {where}"
        return f"{self.where}{key_line(self.where, whole)}" if isinstance(self.where, Path) else self.where

    def within(self, *keys: str) -> str:
        """The overrides that set a part of what some keys hold; empty where none does."""
        start = ".".join([*self.below, *keys, ""]).lstrip(".")
        inside = [override for key, override in self.overrides.items() if key.startswith(start)]
        return f"{', '.join(text for text, _ in inside)} {inside[-1][1]}" if inside else ""


class Settings(BaseModel):
    """Base of all settings: frozen, closed to unknown keys, and without NaN and infinities.

    Example:
        >>> from cocite.config import Settings
        >>> class Loop(Settings):
        ...     epochs: int = 3
        ...     learning_rate: float = 0.1
        >>> Loop.parse({"epochs": 5}, overrides=["learning_rate=0.02"])
        Loop(epochs=5, learning_rate=0.02)
        >>> Loop.parse({}, overrides=["epochs=many"])
        Traceback (most recent call last):
        cocite.errors.ConfigError: epochs=many on the command line: epochs: input should be a valid integer...
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def with_present_keys(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The data with keys of earlier versions under their present names, where the class has any."""
        return data

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Self:
        """Read a YAML file and apply ``key.path=value`` overrides (values are parsed as YAML)."""
        return cls.parse(read_yaml(Path(path)), where=Path(path), overrides=overrides)

    @classmethod
    def parse(
        cls,
        data: Mapping[str, Any],
        *,
        where: str | Path | Source | None = None,
        overrides: Sequence[str] = (),
        values: Mapping[str, Any] | None = None,
        option: str = "",
    ) -> Self:
        """Validate plain data.

        Args:
            data: keys and values.
            where: where the data comes from: a path is that of a YAML file, whose line an error then names.
            overrides: ``key.path=value`` of the command line, set over the data.
            values: dotted key -> value, set over both by the program.
            option: the option of the command line that takes the overrides, where they are no arguments.

        Raises:
            ConfigError: a key is unknown or missing, or a value does not fit. The first mistake is named with its key
                and its value, and with the override or the place in the file that it comes from.
        """
        source = where if isinstance(where, Source) else Source(where, data)
        if overrides or values:
            result = with_values(with_overrides(data, overrides, where=option or "override"), values or {})
            named = {
                _key(override): (f"{option} {override}".lstrip(), "on the command line")
                for override in overrides
            }
            named |= {
                key: (f"{key}={value}", "in place of the file's value")
                for key, value in (values or {}).items()
            }
            source, data = replace(source, overrides=named), result
        data = cls.with_present_keys(data)
        try:
            return cls.model_validate(data, context=source)
        except ValidationError as error:
            raise _explain(cls, error, data, source) from error


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
            value = parse_yaml(text)
        except ValueError as error:
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


def _key(override: str) -> str:
    """The key of ``key.path=value``, without spaces around its parts."""
    return ".".join(part.strip() for part in override.partition("=")[0].split("."))


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


def _explain(
    cls: type[Settings], error: ValidationError, data: Mapping[str, Any], source: Source
) -> ConfigError:
    """The first mistake as a sentence, with the right key where one is misspelt."""
    errors = error.errors(include_url=False)
    first = errors[0]
    location = [str(part) for part in first["loc"]]
    path = ".".join([*source.below, *location])
    present = _present(data, first["loc"])
    where = _origin(cls, first, present, source)
    if first["type"] == "extra_forbidden":
        known = _keys_at(cls, location[:-1])
        return ConfigError(
            f"unknown key {path!r}", where=where, hint=nearest(location[-1], known) if known else None
        )
    if first["type"] == "missing":
        return ConfigError(f"the key {path!r} is missing", where=where)
    # Each member of a union has its own reason to refuse a value; together they say what is possible.
    alike = [
        each for each in errors if len(present) < len(location) and _present(data, each["loc"]) == present
    ]
    if alike:
        path = ".".join([*source.below, *present])
    reasons = "; or ".join(dict.fromkeys(_reason(each["msg"]) for each in alike or [first]))
    # A rule over several values names them in its own message.
    value = (
        f", got {without_passwords(_shown(first['input']))}"
        if path and not isinstance(first["input"], Mapping)
        else ""
    )
    return ConfigError(f"{path}: {reasons}{value}" if path else reasons, where=where)


def _reason(message: str) -> str:
    """The message of pydantic, as the rest of a sentence."""
    message = message.removeprefix("Value error, ")
    return message[0].lower() + message[1:]


def _present(data: Any, location: Sequence[str | int]) -> list[str]:
    """The part of a location that leads through data: without the tags of unions, and without a missing key."""
    keys = []
    for key in location:
        if _has(data, key):
            keys.append(str(key))
            data = data[key]
    return keys


def _has(data: Any, key: str | int) -> bool:
    if isinstance(data, list | tuple):
        return isinstance(key, int) and key < len(data)
    return isinstance(data, Mapping) and key in data


def _origin(cls: type[Settings], mistake: Any, keys: Sequence[str], source: Source) -> str | None:
    """The file or override that a mistake comes from; see :meth:`Source.origin`.

    A rule over several values names the overrides of all of them, unless the file breaks the same rule alone.
    """
    parts = source.within(*keys)
    if parts and mistake["type"] != "missing" and not _breaks_alone(cls, mistake, source):
        return parts
    return source.origin(*keys)


def _breaks_alone(cls: type[Settings], mistake: Any, source: Source) -> bool:
    """Whether the data without the overrides has the same mistake."""
    data: Any = source.data
    for key in source.below:
        data = data.get(key) if isinstance(data, Mapping) else None
    try:
        cls.model_validate(cls.with_present_keys(data))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return bool((first["loc"], first["type"]) == (mistake["loc"], mistake["type"]))
    return False


def _shown(value: Any) -> str:
    """A value in an error message, cut when it is long."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _keys_at(cls: type[BaseModel], location: Sequence[str]) -> set[str]:
    """The keys that are known where ``location`` leads, through lists, unions and their tags."""
    models = {cls}
    for key in location:
        inner = [model.model_fields[key].annotation for model in models if key in model.model_fields]
        # Otherwise the key is a position in a list or the tag of a union, whose members are here already.
        if inner:
            models = {model for annotation in inner for model in _models(annotation)}
    return {name for model in models for name in model.model_fields}


def _models(annotation: Any) -> set[type[BaseModel]]:
    """The settings classes that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation}
    return {model for argument in get_args(annotation) for model in _models(argument)}

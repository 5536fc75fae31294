"""Reads YAML files of settings: plain values in bounded number, each key once, and the line of a key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from cocite.errors import ConfigError, NotFoundError

MOST_VALUES = 100_000
"""Values of a YAML file, every alias written out."""


class _Loader(yaml.SafeLoader):
    """The safe loader, except that a key given twice is a mistake rather than a silent choice of the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Construct as usual, after refusing keys that are given twice or are no plain values."""
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
    """A YAML value has more parts than settings have."""

    def __str__(self) -> str:
        return f"more than {MOST_VALUES:,} values"


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
    """The keys and values of a YAML file; an empty file has none.

    Raises:
        NotFoundError: there is no such file.
        ConfigError: it is not valid YAML, gives a key twice, or holds no keys and values; the line is named.

    Example:
        >>> from pathlib import Path
        >>> from cocite.yaml_files import read_yaml
        >>> _ = Path("recipe.yaml").write_text("epochs: 3\\nepochs: 5\\n")
        >>> read_yaml(Path("recipe.yaml"))
        Traceback (most recent call last):
        cocite.errors.ConfigError: recipe.yaml:2: not valid YAML: the key 'epochs' is given twice
    """
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


def parse_yaml(text: str) -> Any:
    """The plain value of a YAML text.

    Raises:
        ValueError: the text is not valid YAML, is nested too deep, or has more than :data:`MOST_VALUES` values.

    Example:
        >>> from cocite.yaml_files import parse_yaml
        >>> parse_yaml("[1, 2.5, yes]")
        [1, 2.5, True]
    """
    try:
        value = yaml.safe_load(text)
        _refuse_large(value)
    except (yaml.YAMLError, RecursionError, _TooLargeError) as error:
        raise ValueError(str(error)) from error
    return value


def key_line(path: Path, keys: Sequence[str]) -> str:
    """``:12``, the line of a key in a YAML file, or that of the nearest key above it; empty where there is none."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, yaml.YAMLError):
        return ""
    line = ""
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            entries = [(name, value) for name, value in node.value if name.value == key]
        elif isinstance(node, yaml.SequenceNode) and key.isdecimal() and int(key) < len(node.value):
            entries = [(node.value[int(key)],) * 2]
        else:
            break
        if not entries:
            break
        name, node = entries[-1]
        line = f":{name.start_mark.line + 1}"
    return line

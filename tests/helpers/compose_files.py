"""The compose files of the repository, as docker compose reads them."""

from __future__ import annotations

import re
from typing import Any

import yaml

from helpers.sources import ROOT

COMPOSE = ROOT / "infra" / "compose"


def environment() -> dict[str, str]:
    """The variables of the example, the hash given."""
    lines = (COMPOSE / "example.env").read_text().splitlines()
    pairs = (line.split("=", 1) for line in lines if line and not line.startswith("#"))
    return {name: value.strip("'") for name, value in pairs} | {"COCITE_PASSWORD_HASH": "$2a$14$hash"}


def compose(name: str) -> dict[str, Any]:
    """A compose file with its variables in place, as ``docker compose config`` does that."""
    given = environment()

    def value(match: re.Match[str]) -> str:
        variable, operator, rest = re.match(r"(\w+)(:-|:\?)?(.*)", match[1]).groups()  # type: ignore[union-attr]
        assert variable in given or operator == ":-", (
            f"{variable} is neither in example.env nor has a default"
        )
        return given.get(variable) or rest

    text = re.sub(r"\$\{([^}]*)\}", value, (COMPOSE / name).read_text(encoding="utf-8"))
    return yaml.safe_load(text)  # type: ignore[no-any-return]

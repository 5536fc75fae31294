"""Parameter values by dotted name, as sweep files give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from cocite.bounds import Name
from cocite.config import flat

Values = Annotated[
    dict[Name, Any],
    BeforeValidator(lambda data: flat(data) if isinstance(data, Mapping) else data),
    Field(max_length=1000),
]
"""Dotted name -> value. Nested mappings become flat: ``{"training": {"epochs": 1}}`` is ``{"training.epochs": 1}``."""

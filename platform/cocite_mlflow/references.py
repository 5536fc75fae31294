"""Addresses of registered models, and the versions that they lead to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cocite.errors import InputError

SCHEME = "models:/"


@dataclass(frozen=True)
class ModelReference:
    """A registered model as the user names it: by an alias, or by a version.

    Attributes:
        name: of the model.
        alias: names a version, and is moved to a newer one.
        version: a number, when there is no alias.

    Example:
        >>> ModelReference.parse("models:/ranker@champion")
        ModelReference(name='ranker', alias='champion', version=None)
        >>> ModelReference.parse("models:/ranker/12").version
        12
        >>> ModelReference.parse("folders/ranker") is None
        True
    """

    name: str
    alias: str | None = None
    version: int | None = None

    @classmethod
    def parse(cls, model: Path | str | None) -> ModelReference | None:
        """The model that ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION`` names; None: the text is a folder's path.

        Raises:
            InputError: the text begins as such an address and is none.
        """
        text = str(model or "")
        if not text.startswith(SCHEME):
            return None
        match = re.fullmatch(r"models:/([^/:]+)(?:@([^/:@]+)|/(\d+))", text)
        if match is None:
            raise InputError(
                f"{text!r} names no registered model",
                where="--model",
                hint="write models:/NAME@ALIAS or models:/NAME/VERSION",
            )
        name, alias, version = match.groups()
        return cls(name, alias, int(version) if version else None)

    def __str__(self) -> str:
        return f"{SCHEME}{self.name}" + (f"@{self.alias}" if self.alias else f"/{self.version}")


@dataclass(frozen=True)
class ModelVersion:
    """A version of a registered model.

    Attributes:
        name: of the model.
        version: its number.
        alias: the alias that led to it; None: its number did.

    Example:
        >>> print(ModelVersion("ranker", 12, "champion"))
        ranker version 12 (@champion)
        >>> print(ModelVersion("ranker", 12).reference)
        models:/ranker/12
    """

    name: str
    version: int
    alias: str | None = None

    @property
    def reference(self) -> ModelReference:
        """The address of this version, whatever the alias names later."""
        return ModelReference(self.name, version=self.version)

    def __str__(self) -> str:
        return f"{self.name} version {self.version}" + (f" (@{self.alias})" if self.alias else "")

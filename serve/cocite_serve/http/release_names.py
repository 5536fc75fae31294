"""The names by which a request chooses one of the releases that are loaded."""

from __future__ import annotations

from typing import Literal, Protocol

from cocite.errors import InputError
from cocite_mlflow.references import SCHEME, ModelVersion

Loaded = Literal["served", "beside"]


class Named(Protocol):
    """A release, as far as its names tell of it.

    Example:
        >>> class Champion:
        ...     model_version, index_version, registered = "5f0c", "000001", ModelVersion("ranker", 3, "champion")
        >>> names_of(Champion())
        ('champion', '3', 'ranker@champion', 'ranker/3')
    """

    @property
    def model_version(self) -> str:
        """Fingerprint of the model."""
        ...

    @property
    def index_version(self) -> str:
        """Id of the index snapshot."""
        ...

    @property
    def registered(self) -> ModelVersion | None:
        """The version of a registered model; None: the model is a folder."""
        ...


def names_of(release: Named) -> tuple[str, ...]:
    """What the registered model of a release is called; () where it is a folder."""
    model = release.registered
    if model is None:
        return ()
    version = str(model.version)
    if model.alias is None:
        return version, f"{model.name}/{version}"
    return model.alias, version, f"{model.name}@{model.alias}", f"{model.name}/{version}"


def loaded_names(served: Named, beside: Named | None = None) -> list[str]:
    """The names that a request may give, besides versions of models and indexes.

    Example:
        >>> class Champion:
        ...     model_version, index_version, registered = "5f0c", "000001", ModelVersion("ranker", 3, "champion")
        >>> class Challenger:
        ...     model_version, index_version, registered = "7a1d", "000001", ModelVersion("ranker", 4)
        >>> loaded_names(Champion(), Challenger())
        ['served', 'beside', 'champion', '3', 'ranker@champion', 'ranker/3', '4', 'ranker/4']
    """
    if beside is None:
        return ["served", *names_of(served)]
    names = [*names_of(served), *names_of(beside)]
    return ["served", "beside", *(name for name in names if names.count(name) == 1)]


def find_release(name: str | None, served: Named, beside: Named | None = None) -> Loaded | None:
    """The release that a request names.

    Args:
        name: ``served`` or ``beside``; of a registered model the alias, the version, or ``NAME@ALIAS`` or
            ``NAME/VERSION``, with ``models:/`` before it or without; or the version of model or index that answers
            have. None: the request names none.
        served: the release that answers most requests.
        beside: the second one that is loaded, if any.

    Raises:
        InputError: no release is called so, or both are.

    Example:
        >>> class Champion:
        ...     model_version, index_version, registered = "5f0c", "000001", ModelVersion("ranker", 3, "champion")
        >>> [find_release(name, Champion()) for name in ("champion", "models:/ranker/3", "000001", None)]
        ['served', 'served', 'served', None]
    """
    if name is None:
        return None
    if name == "served":
        return "served"
    if name == "beside" and beside is not None:
        return "beside"
    is_served, is_beside = _is_called(served, name), beside is not None and _is_called(beside, name)
    if is_served and is_beside:
        raise InputError(f"{name!r} names both releases: say 'served' or 'beside'", where="release")
    if is_served or is_beside:
        return "served" if is_served else "beside"
    *names, last = map(repr, loaded_names(served, beside))
    there_are = f"the names are {', '.join(names)} and {last}" if names else f"the only name is {last}"
    raise InputError(f"no release {name!r} is loaded; {there_are}", where="release")


def _is_called(release: Named, name: str) -> bool:
    if name.removeprefix(SCHEME) in names_of(release):
        return True
    # Without a model its version is empty, which names nothing.
    return bool(name) and name in (release.model_version, release.index_version)

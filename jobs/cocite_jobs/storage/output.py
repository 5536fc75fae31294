"""Protection of the folder that a training writes: what it holds is not destroyed, and one process writes at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cocite.errors import InputError
from cocite.locks import locked_for_writing
from cocite.manifests import MANIFEST
from cocite_jobs.storage.cache import cache_folder, cache_key
from cocite_jobs.storage.location import Location


def check_output_replaceable(location: Location) -> None:
    """Refuse a folder whose content a model may not replace, before hours are spent on training the model.

    Raises:
        InputError: the folder is neither empty nor an artifact.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     check_output_replaceable(Location.of(folder))  # empty
        ...     Path(folder, "thesis.tex").touch()
        ...     try:
        ...         check_output_replaceable(Location.of(folder))
        ...     except InputError as error:
        ...         print(error.message)
        is not empty and holds no model, so it is not replaced
    """
    names = location.names()
    if names and MANIFEST not in names:
        raise InputError(
            "is not empty and holds no model, so it is not replaced",
            where=location.uri,
            hint="name another: --to",
        )


@contextmanager
def training_lock(location: Location, kind: str) -> Iterator[None]:
    """Keep other processes of this machine from training one kind into a model folder while the block runs.

    Args:
        location: the model folder. The lock file of a remote one lies in the cache folder, so processes of other
            machines are not kept away.
        kind: of the recipe.

    Raises:
        BusyError: another process trains it there.
        CociteError: the folder cannot be written.
    """
    with output_lock(location, f"{kind}.training"):
        yield


@contextmanager
def output_lock(location: Location, name: str) -> Iterator[None]:
    """Keep other processes of this machine from writing one thing of a folder while the block runs.

    Args:
        location: the folder.
        name: of what is written there.

    Raises:
        BusyError: another process writes it there.
        CociteError: the folder cannot be written.
    """
    folder = location.local or cache_folder()
    file = f".{name}.lock" if location.local else f"{cache_key(location)}.{name}.lock"
    with locked_for_writing(folder / file, folder, protects=location.uri):
        yield

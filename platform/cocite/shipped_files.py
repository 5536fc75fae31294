"""YAML files that come with cocite in a folder of a package, such as recipes and sweeps, looked up by name or path."""

from __future__ import annotations

from pathlib import Path

from cocite.errors import NotFoundError, nearest


def shipped_names(folder: Path) -> list[str]:
    """Names of the YAML files of a folder, without their suffix, sorted.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "small.yaml").touch()
        ...     shipped_names(Path(folder))
        ['small']
    """
    return sorted(path.stem for path in folder.glob("*.yaml"))


def shipped_file(name: str, folder: Path, *, what: str) -> Path:
    """The file that a user means by a name or a path.

    Args:
        name: of a shipped file, without its suffix, or the path of the user's own. A name that a shipped file has
            means that file, even where the working directory has an entry of the same name.
        folder: of the shipped files.
        what: what the files are, in the singular, for the message of the error.

    Raises:
        NotFoundError: there is neither; the hint names the shipped file with the most similar name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "small.yaml").touch()
        ...     print(shipped_file("small", Path(folder), what="recipe").name)
        ...     try:
        ...         shipped_file("smal", Path(folder), what="recipe")
        ...     except NotFoundError as error:
        ...         print(error)
        small.yaml
        RECIPE: no recipe 'smal' (did you mean 'small'?)
    """
    path = Path(name)
    if not path.suffix and (folder / f"{name}.yaml").is_file():
        path = folder / f"{name}.yaml"
    if not path.is_file():
        raise NotFoundError(
            f"no {what} {name!r}", where=what.upper(), hint=nearest(name, shipped_names(folder))
        )
    return path

"""The working directory that is sent with a job: cocite's own packages, and the small files that its command names."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from pathlib import Path

from cocite.errors import InputError

PACKAGES = ("cocite", "cocite_mlflow", "cocite_jobs", "cocite_tuning", "cocite_serve")
FILES_BYTES = 32 * 2**20
"""Bytes that the files of a user may have together: they pass through the memory of the cluster's head."""


def pack_working_directory(folder: Path, *, files: Sequence[Path], installed: bool) -> bool:
    """Fill a job's working directory; returns whether there is anything in it.

    Args:
        folder: an empty one.
        files: recipe, sweep or query files to send along; their names are kept, their folders are not.
        installed: the cluster has cocite's packages: leave them out.

    Raises:
        InputError: two files have one name, or the files are too large.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "ours.yaml").write_text("kind: nnselect")
        ...     directory = Path(folder, "directory")
        ...     directory.mkdir()
        ...     pack_working_directory(directory, files=[Path(folder, "ours.yaml")], installed=True)
        ...     [path.name for path in directory.iterdir()]
        14
        True
        ['ours.yaml']
    """
    check_files(files)
    if not installed:
        for package in PACKAGES:
            spec = importlib.util.find_spec(package)
            if spec is not None and spec.origin is not None:
                ignore = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
                shutil.copytree(Path(spec.origin).parent, folder / package, ignore=ignore)
    # Beside the packages, because the job's command names the files relative to its working directory.
    for file in files:
        shutil.copyfile(file, folder / file.name)
    return any(folder.iterdir())


def check_files(files: Sequence[Path]) -> None:
    """Refuse files that cannot travel with a job.

    Raises:
        InputError: two files have one name, or the files are too large.
    """
    by_name: dict[str, Path] = {}
    for file in files:
        other = by_name.setdefault(file.name, file)
        if not other.samefile(file) or file.name in PACKAGES:
            raise InputError(
                f"two files that travel with the job are named {file.name!r}",
                where=str(file),
                hint="rename one",
            )
    total = sum(file.stat().st_size for file in files)
    if total > FILES_BYTES:
        largest = max(files, key=lambda file: file.stat().st_size)
        raise InputError(
            f"files of {total / 2**20:,.0f} MiB cannot travel with a job, whose limit is "
            f"{FILES_BYTES / 2**20:g} MiB",
            where=str(largest),
            hint="put them where the cluster reads them, and name the path there or a URI",
        )

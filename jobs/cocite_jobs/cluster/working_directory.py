"""The working directory that is sent with a job: cocite's own packages, and the recipe or sweep file of the user."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

PACKAGES = ("cocite", "cocite_mlflow", "cocite_jobs", "cocite_tuning", "cocite_serve")


def pack_working_directory(folder: Path, *, file: Path | None, installed: bool) -> bool:
    """Fill a job's working directory; returns whether there is anything in it.

    Args:
        folder: an empty one.
        file: a recipe or sweep file to send along; its name is kept, its folder is not.
        installed: the cluster has cocite's packages: leave them out.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "ours.yaml").write_text("kind: nnselect")
        ...     directory = Path(folder, "directory")
        ...     directory.mkdir()
        ...     pack_working_directory(directory, file=Path(folder, "ours.yaml"), installed=True)
        ...     [path.name for path in directory.iterdir()]
        14
        True
        ['ours.yaml']
    """
    if not installed:
        for package in PACKAGES:
            spec = importlib.util.find_spec(package)
            if spec is not None and spec.origin is not None:
                ignore = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
                shutil.copytree(Path(spec.origin).parent, folder / package, ignore=ignore)
    # Beside the packages, because the job's command names the file relative to its working directory.
    if file is not None:
        shutil.copyfile(file, folder / file.name)
    return any(folder.iterdir())

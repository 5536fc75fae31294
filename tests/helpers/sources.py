"""The source files of the packages, for tests that read them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "cocite": ROOT / "platform" / "cocite",
    "cocite_mlflow": ROOT / "platform" / "cocite_mlflow",
    "cocite_jobs": ROOT / "jobs" / "cocite_jobs",
    "cocite_tuning": ROOT / "tuning" / "cocite_tuning",
    "cocite_serve": ROOT / "serve" / "cocite_serve",
}
SOURCES = sorted(path for folder in PACKAGES.values() for path in folder.rglob("*.py"))


def name_of(path: Path) -> str:
    """A source file's path from the root."""
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    """A source file's dotted module name."""
    for folder in PACKAGES.values():
        if path.is_relative_to(folder):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    raise AssertionError(f"{path} lies in no package")

"""A small artifact for tests of what copies, uploads and fetches artifacts."""

from __future__ import annotations

from pathlib import Path

from cocite.artifacts import publish


def write_artifact(folder: Path, text: str = "weights") -> Path:
    """Publish an artifact of two files, one of them in a subfolder; returns its folder."""
    with publish(folder, kind="thing", meta={"of": text}, replace=True) as temporary:
        (temporary / "inner").mkdir()
        (temporary / "inner" / "a.txt").write_text(text)
        (temporary / "b.txt").write_text(text * 2)
    return folder

"""A wheel of one package, which says a word whenever a Python starts that it is installed in."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

NAME, VERSION = "cocite-tests-greeting", "1.0"


def write_wheel(folder: Path, word: str) -> Path:
    """Write the wheel into a folder, as ``pip install --no-index --find-links FOLDER`` finds it; returns its path."""
    stem = f"{NAME.replace('-', '_')}-{VERSION}"
    info = f"{stem}.dist-info"
    files = {
        # A line of a .pth file that begins with import is run by every Python that starts.
        f"{stem}.pth": f"import sys; sys.stdout.write({word!r} + chr(10))\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    path = folder / f"{stem}-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path

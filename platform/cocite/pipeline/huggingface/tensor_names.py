"""Gives the tensors of a safetensors file other names, without reading the tensors into memory.

A file is eight bytes with the length of its header, the header as JSON, and the bytes of the tensors
(https://github.com/huggingface/safetensors, "Format"). Only the header is written anew, in the form in which the
library writes it, so that renaming back gives the first file, byte for byte.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cocite.errors import IntegrityError

METADATA = "__metadata__"
"""Key of a header that names no tensor."""
LONGEST_HEADER = 100_000_000
"""Bytes; the limit of the library itself."""
_ALIGNMENT = 8


def rename_tensors(source: Path, target: Path, rename: Callable[[str], str]) -> None:
    """Copy a safetensors file with other names of its tensors.

    Args:
        source: the file.
        target: the file to write.
        rename: old name -> new name.

    Raises:
        IntegrityError: ``source`` is no safetensors file, or two tensors would have one name.

    Example:
        >>> import tempfile, torch
        >>> from safetensors.torch import load, save_file
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     one, two = Path(folder, "one"), Path(folder, "two")
        ...     save_file({"head.weight": torch.ones(2)}, one, {"format": "pt"})
        ...     rename_tensors(one, two, lambda name: name.replace("head", "classifier"))
        ...     load(two.read_bytes())
        {'classifier.weight': tensor([1., 1.])}
    """
    with source.open("rb") as file, target.open("wb") as copy:
        header = _read_header(file.read(_ALIGNMENT), file.read, str(source))
        renamed = {name if name == METADATA else rename(name): value for name, value in header.items()}
        if len(renamed) < len(header):
            raise IntegrityError("two of its tensors would have one name", where=str(source))
        text = json.dumps(renamed, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % _ALIGNMENT)
        copy.write(len(text).to_bytes(_ALIGNMENT, "little") + text)
        shutil.copyfileobj(file, copy)


def _read_header(start: bytes, read: Callable[[int], bytes], where: str) -> dict[str, Any]:
    length = int.from_bytes(start, "little")
    if len(start) < _ALIGNMENT or length > LONGEST_HEADER:
        raise IntegrityError("is no safetensors file", where=where)
    try:
        header = json.loads(read(length))
    except (ValueError, RecursionError) as error:  # no JSON, no UTF-8, or nested too deeply
        raise IntegrityError("is no safetensors file", where=where) from error
    if not isinstance(header, dict):
        raise IntegrityError("is no safetensors file", where=where)
    return header

"""What ``cocite recommend`` refuses before it opens an index: options without their partners, and unfit drafts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cocite.atomic_files import refuse_folder
from cocite.errors import InputError

if TYPE_CHECKING:
    from cocite.drafts.reading import OpenedDraft

PARTNERS = {
    "in_place": ("write",),
    "cite_keys": ("write", "patch"),
    "references": ("write",),
    "new": ("have",),
    "lookup": ("have",),
    "suggestions": ("suggest",),
}
"""Option -> those of which it needs one."""


def require_partners(**given: bool) -> None:
    """Refuse an option without one that it goes with; the values are whether each was given.

    Example:
        >>> require_partners(cite_keys=True, write=False, patch=False)
        Traceback (most recent call last):
        ...
        cocite.errors.InputError: --cite-keys: goes with --write or --patch
    """
    for name, partners in PARTNERS.items():
        if given.get(name) and not any(given[partner] for partner in partners):
            raise InputError(f"goes with {' or '.join(map(_option, partners))}", where=_option(name))
    if given.get("patch") and given["write"]:
        raise InputError("goes without --write", where="--patch")


def require_draft(**given: bool) -> None:
    """Refuse options that go with a draft alone; their values are whether they were given.

    Example:
        >>> require_draft(write=True)
        Traceback (most recent call last):
        ...
        cocite.errors.InputError: --write: goes with a draft
    """
    for name, is_given in given.items():
        if is_given:
            raise InputError("goes with a draft", where=_option(name))


def open_checked(
    draft: Path,
    main: str,
    *,
    suggest: bool,
    write: bool,
    in_place: bool,
    patch: Path | None,
    cite_keys: bool,
    references: Path | None,
) -> tuple[Path, OpenedDraft]:
    """Open a draft, and refuse what could not be answered or written once its papers are found.

    Args:
        draft: file, folder or archive.
        main: name of the main file in an archive.
        suggest: whether sentences without a citation are looked for, too.
        write, in_place: whether the draft is completed, as a copy or itself.
        patch: file for the changes alone.
        cite_keys: whether a form of keys was asked for.
        references: file for the references of the papers that the draft gets.

    Returns:
        The draft's own file, and what was read.

    Raises:
        InputError: it has nothing to answer, has no keys, or a file to be written is there already.
    """
    from cocite.drafts.reading import find_draft, open_draft
    from cocite.drafts.writing import check_destination

    path = find_draft(draft)
    opened = open_draft(path, main)
    read = opened.draft
    if not (read.gaps or read.cites or suggest):
        raise InputError(
            "the draft has neither gaps nor citations", where=str(draft), hint="mark a gap with [CIT]"
        )
    if write or patch:
        check_destination(path, opened, copies=write and not in_place)
    if read.kind == "docx" and (patch or cite_keys):
        raise InputError(
            "is for drafts with keys, which a .docx has not",
            where="--patch" if patch else "--cite-keys",
            hint="use --write alone",
        )
    for file in (patch, references):
        if file is not None:
            refuse_folder(file)
            if file.is_file():
                raise InputError("is there already", where=str(file), hint="remove or rename it")
    return path, opened


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"

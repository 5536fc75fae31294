"""The files of a draft that a client sent: their bytes, what is read of them, and which papers they cite."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

from cocite.drafts.bibliography import Bibliography
from cocite.drafts.draft import Draft
from cocite.drafts.reader_process import ReadDraft, read_apart
from cocite.drafts.reading import require_known
from cocite.drafts.reference_list import with_references
from cocite.errors import InputError
from cocite_serve.http.draft_schemas import DraftFile
from cocite_serve.http.papers import Papers
from cocite_serve.settings import Limits


def file_bytes(sent: Sequence[DraftFile]) -> dict[str, bytes]:
    """Name -> bytes of each file.

    Raises:
        InputError: a name stands twice, or a content is no base64; ``where`` is the field of the request.

    Example:
        >>> file_bytes([DraftFile(name="a.txt", text="We."), DraftFile(name="b.pdf", base64="eA==")])
        {'a.txt': b'We.', 'b.pdf': b'x'}
    """
    files: dict[str, bytes] = {}
    for number, file in enumerate(sent):
        if file.name in files:
            raise InputError(f"{file.name!r} stands twice", where=f"files.{number}.name")
        if file.base64 is None:
            files[file.name] = (file.text or "").encode("utf-8", "replace")
            continue
        try:
            files[file.name] = base64.b64decode(file.base64, validate=True)
        except ValueError:
            raise InputError("is no base64", where=f"files.{number}.base64") from None
    return files


def read_files(
    sent: Sequence[DraftFile],
    main: str,
    bib: str,
    limits: Limits,
    *,
    sources: bool = False,
    suggest: tuple[Path, int] | None = None,
) -> ReadDraft:
    """Read a draft in another process.

    Args:
        sent, main, bib: as of the request.
        limits: in force.
        sources, suggest: as of :func:`~cocite.drafts.reader_process.read_apart`.

    Raises:
        InputError: it is none, or is above a limit; ``where`` is the field of the request.
    """
    files = file_bytes(sent)
    try:
        require_known(files)  # at no cost, unlike the process
        return read_apart(
            files,
            main,
            bib.encode("utf-8", "replace"),
            seconds=limits.draft_s,
            sources=sources,
            suggest=suggest,
        )
    except InputError as error:
        raise InputError(str(error), where="files") from None


def with_cited(read: ReadDraft, papers: Papers) -> tuple[Draft, Bibliography]:
    """A draft, and its bibliography with the rows of papers that the index holds."""
    bibliography = Bibliography.of(read.entries, papers.corpus)
    draft, bibliography = with_references(read.draft, bibliography, papers.corpus)
    rows = {key: row for key, row in bibliography.rows.items() if papers.alive[row]}
    return draft, Bibliography(bibliography.entries, rows)


def own_keys(bibliography: Bibliography, papers: Papers) -> dict[str, str]:
    """Id of a paper -> its key in a draft's bibliography; the first of several keys counts."""
    own = dict(zip(bibliography.rows, papers.corpus.ids([*bibliography.rows.values()]), strict=True))
    return {id_: key for key, id_ in reversed(own.items())}

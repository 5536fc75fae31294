"""The files of a request, read in another process."""

from __future__ import annotations

import base64

import pytest
from helpers.api_backend import LIMITS, InProcess

from cocite.errors import InputError
from cocite_serve.http.draft_files import file_bytes, own_keys, read_files, with_cited
from cocite_serve.http.draft_schemas import DraftFile

PATIENT = LIMITS.model_copy(update={"draft_s": 300.0})
BIB = "@misc{v, title={Attention Is All You Need}}\n@misc{u, title={Attention Is All You Need}}"


def test_texts_and_bytes() -> None:
    binary = DraftFile(name="b.pdf", base64=base64.b64encode(b"%PDF").decode())
    assert file_bytes([DraftFile(name="a.txt", text="Größe"), binary]) == {
        "a.txt": "Größe".encode(),
        "b.pdf": b"%PDF",
    }
    with pytest.raises(InputError, match=r"files\.1\.name: 'b\.pdf' stands twice"):
        file_bytes([binary, binary])
    with pytest.raises(InputError, match=r"files\.0\.base64: is no base64"):
        file_bytes([DraftFile(name="b.pdf", base64="no base64!")])


def test_what_a_draft_cites_has_the_first_of_its_own_keys(backend: InProcess) -> None:
    read = read_files([DraftFile(name="a.md", text="Attention [@v] and [@?].")], "", BIB, PATIENT)
    draft, bibliography = with_cited(read, backend.papers)
    assert ([one.key for one in draft.citations], len(draft.gaps)) == (["v"], 1)
    assert own_keys(bibliography, backend.papers) == {"vaswani2017attention": "v"}


def test_the_field_is_named() -> None:
    with pytest.raises(InputError, match=r"^files: a\.odt: is of no known kind"):
        read_files([DraftFile(name="a.odt", text="x")], "", "", PATIENT)

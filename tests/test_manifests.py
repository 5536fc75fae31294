from __future__ import annotations

import json
from pathlib import Path

import pytest

from cocite.artifacts import publish, verify
from cocite.errors import CociteError, InputError, IntegrityError, NotFoundError
from cocite.manifests import MANIFEST, read_json, read_manifest


def write(destination: Path, text: str = "one", *, replace: bool = False, kind: str = "thing") -> None:
    with publish(destination, kind=kind, meta={"text": text}, replace=replace) as folder:
        (folder / "a.txt").write_text(text)
        (folder / "sub").mkdir(exist_ok=True)
        (folder / "sub" / "b.bin").write_bytes(text.encode() * 100)


def test_read_manifest_names_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such folder"):
        read_manifest(tmp_path / "none")
    (tmp_path / "plain").mkdir()
    with pytest.raises(NotFoundError, match="not a cocite artifact"):
        read_manifest(tmp_path / "plain")
    write(tmp_path / "art")
    with pytest.raises(InputError, match="is a thing, not a corpus"):
        read_manifest(tmp_path / "art", kind="corpus")


def test_any_flipped_bit_of_a_manifest_is_refused_or_changes_nothing_of_its_content(tmp_path: Path) -> None:
    meta = {"año": [1.5, 1e-7, None], "recipe": {"n": 3, "names": ("a", "b")}, "x": "\u2028"}
    with publish(tmp_path / "art", kind="thing", meta=meta) as folder:
        (folder / "a.txt").write_text("one")
    path = tmp_path / "art" / MANIFEST
    said, whole = read_manifest(tmp_path / "art"), path.read_bytes()
    for bit in range(8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        try:
            same = read_manifest(tmp_path / "art") == said
        except CociteError:
            continue
        assert same, f"bit {bit}"


def test_a_manifest_of_an_earlier_cocite_has_no_digest_of_itself(tmp_path: Path) -> None:
    write(tmp_path / "art")
    said = read_json(tmp_path / "art" / MANIFEST)
    del said["sha256"]
    (tmp_path / "art" / MANIFEST).write_text(json.dumps(said))
    assert verify(tmp_path / "art").meta == {"text": "one"}
    said["more"] = 1
    (tmp_path / "art" / MANIFEST).write_text(json.dumps(said))
    with pytest.raises(IntegrityError, match="does not match its own SHA-256"):
        read_manifest(tmp_path / "art")


GOOD = {"format": 1, "kind": "thing", "meta": {}, "files": {"a.txt": {"bytes": 1, "sha256": "00"}}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "names no format"),
        (json.dumps({"format": 1, "kind": "thing", "meta": {}}), "lacks 'files'"),
        (json.dumps(GOOD | {"files": []}), "damaged"),
        (json.dumps(GOOD | {"meta": 3}), "damaged"),
        (json.dumps(GOOD | {"files": {"a.txt": {"bytes": 1}}}), "lacks 'sha256'"),
        (json.dumps(GOOD | {"files": {"a.txt": {"bytes": "1", "sha256": "00"}}}), "no valid size"),
        (json.dumps(GOOD | {"files": {"../a.txt": {"bytes": 1, "sha256": "00"}}}), "not a path inside"),
        (json.dumps(GOOD | {"files": {"/etc/hosts": {"bytes": 1, "sha256": "00"}}}), "not a path inside"),
    ],
)
def test_a_damaged_manifest_is_an_integrity_error(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(IntegrityError, match=message):
        read_manifest(tmp_path)


def test_a_manifest_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps(GOOD | {"format": 2}))
    with pytest.raises(InputError, match="format 2 is not the format 1"):
        read_manifest(tmp_path)


def test_the_digest_depends_on_kind_names_and_content_alone(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b")
    write(tmp_path / "c", "two")
    write(tmp_path / "d", kind="other")
    digests = [read_manifest(tmp_path / name).digest for name in "abcd"]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
    assert all(len(digest) == 16 for digest in digests)


def test_read_json_distinguishes_missing_from_damaged(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"x\.json: no such file"):
        read_json(tmp_path / "x.json")
    (tmp_path / "x.json").write_bytes(b"\xff\xfe")
    with pytest.raises(IntegrityError, match="not valid JSON: .* .restore it or build it again"):
        read_json(tmp_path / "x.json")


def test_json_that_is_nested_too_deeply_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(IntegrityError, match="deep.json: not valid JSON"):
        read_json(tmp_path / "deep.json")


def test_a_manifest_of_another_name(tmp_path: Path) -> None:
    write(tmp_path / "art")
    (tmp_path / "art" / MANIFEST).rename(tmp_path / "art" / "own.json")
    assert read_manifest(tmp_path / "art", name="own.json").meta == {"text": "one"}
    with pytest.raises(NotFoundError, match="holds no other.json, so it is not a cocite artifact"):
        read_manifest(tmp_path / "art", name="other.json")
    (tmp_path / "art" / "own.json").write_text("{")
    with pytest.raises(IntegrityError, match="own.json: not valid JSON"):
        read_manifest(tmp_path / "art", name="own.json")

from __future__ import annotations

import gzip
import re
import tracemalloc
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.importers import xml_records as module
from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.xml_records import root_of, xml_records
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError


def records(path: Path, data: bytes | str, *names: str) -> list[tuple[int, list[str], str]]:
    """Line, ids of the elements around, and text of each record."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    position = SourcePosition()
    with InputFile(path) as stream:
        return [
            (position.line, [outer.get("id", "") for outer in around], "".join(element.itertext()))
            for around, element in xml_records(stream, position, names or ("p",), "all")
        ]


def test_records_have_their_lines_and_the_elements_around(tmp_path: Path) -> None:
    text = (
        '<?xml version="1.0"?>\n<all id="a" xmlns="urn:x" xmlns:y="urn:y">out\n'
        '<v y:id="1"><p>A <i>b</i>\n c</p><q/></v><v id="2">\n<p>B<p>within</p></p></v></all>\n'
    )
    for data in (text.encode(), gzip.compress(text.encode()), b"\xef\xbb\xbf" + text.encode()):
        assert records(tmp_path / "x.xml", data) == [(3, ["a", "1"], "A b\n c"), (5, ["a", "2"], "Bwithin")]


def test_other_encodings_are_read(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="{}"?><all><p>Balázs</p></all>'
    for name in ("iso-8859-1", "windows-1252", "utf-16"):
        assert records(tmp_path / "x.xml", text.format(name).encode(name)) == [(1, [""], "Balázs")]


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=10)


@given(st.lists(st.tuples(WORDS, WORDS), max_size=8), st.integers(1, 40))
def test_any_texts_come_back_wherever_a_piece_ends(
    tmp_path: Path, texts: list[tuple[str, str]], chunk: int
) -> None:
    body = "\n".join(f"<p>{escape(a)}<b>{escape(b)}</b></p>" for a, b in texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        found = records(tmp_path / "x.xml", f"<all>{body}</all>")
    assert [text for _, _, text in found] == [a + b for a, b in texts]


ENTITIES = '<!DOCTYPE all [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]>\n<all><p>&b;</p></all>'
OUTSIDE = '<!DOCTYPE all [<!ENTITY a SYSTEM "{}">]><all><p>&a;</p></all>'
ATTRIBUTES = '<!DOCTYPE all [<!ATTLIST p big CDATA "xxxxxxxx">]><all><p/></all>'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ENTITIES, "x.xml:1: the DOCTYPE holds declarations, such as entities, which are not read"),
        (OUTSIDE, "the DOCTYPE holds declarations"),
        (ATTRIBUTES, "the DOCTYPE holds declarations"),
        ("<all>\n<p>A</q></all>", "x.xml:2: not valid XML: mismatched tag"),
        ("<all><p>A</p>", "not valid XML: no element found"),
        ("<all><p>&nbsp;</p></all>", "not valid XML: undefined entity"),
        ("<all><p>\xff</p></all>".encode("latin-1"), "not valid XML"),
        ("", "not valid XML: no element found"),
        (
            '<?xml version="1.0" encoding="none"?><all/>',
            "the encoding cannot be read: unknown encoding: none",
        ),
        ('<?xml version="1.0" encoding="gb2312"?><all/>', "the encoding cannot be read"),
        ("<other/>", "x.xml:1: the outermost element is <other>, not <all>"),
        ("<all>" + "<a>" * 300, "more than 200 elements within one another"),
        ("<all><p>" + "<a>" * 300, "more than 200 elements within one another"),
    ],
)
def test_what_cannot_be_read_ends_the_reading(tmp_path: Path, text: str | bytes, reason: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    if isinstance(text, str):
        text = text.replace("{}", secret.as_uri())
    with pytest.raises(InputError, match=re.escape(reason)):
        records(tmp_path / "x.xml", text)


def test_an_external_dtd_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "x.dtd").write_text('<!ENTITY a "expanded">')
    text = f'<!DOCTYPE all SYSTEM "{(tmp_path / "x.dtd").as_uri()}"><all><p>A&a;</p></all>'
    assert records(tmp_path / "x.xml", text) == [(1, [""], "A")]


@pytest.mark.parametrize("piece", ["<p>{}</p>", "<p a='{}'/>", "<!--{}--><p/>", "{}<p/>"])
def test_a_record_has_a_greatest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: str) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 1 << 20)
    text = "<all><p>A</p>" + piece.format("x" * (1 << 19)) + "</all>"
    assert len(records(tmp_path / "x.xml", text)) == 2
    with pytest.raises(InputError, match="more than 1 MiB without the end of a record"):
        records(tmp_path / "x.xml", "<all><p>A</p>" + piece.format("x" * (3 << 19)) + "</all>")


def test_a_record_has_a_greatest_number_of_elements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ELEMENTS", 100)
    assert len(records(tmp_path / "x.xml", "<all>" + f"<p>{'<a/>' * 99}</p>" * 3 + "</all>")) == 3
    with pytest.raises(InputError, match="more than 100 elements in one record"):
        records(tmp_path / "x.xml", f"<all><p>{'<a/>' * 100}</p></all>")


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    paper = b"<p><t>" + b"x" * 1000 + b"</t></p><other><t/></other>\n"
    peaks = []
    for count in (1000, 8000):
        path.write_bytes(b"<all>" + paper * count + b"</all>")
        tracemalloc.start()
        with InputFile(path) as stream:
            assert sum(1 for _ in xml_records(stream, SourcePosition(), {"p"}, "all")) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]


def test_the_outermost_element_is_known_by_the_beginning() -> None:
    whole = b'<?xml version="1.0"?>\n<!-- a -->\n<TEI xmlns="http://x" xml:id="a"><text>'
    root = root_of(whole)
    assert root is not None
    assert (root.tag, root.attrib) == ("TEI", {"id": "a"})
    assert root_of(whole + b"<broken") is not None
    for head in (b"", b"text", whole[:-30], b'<!DOCTYPE a [<!ENTITY b "c">]><a/>'):
        assert root_of(head) is None


MARKS = ["<p>", "</p>", "<a>", "</a>", "x", "&amp;", "<", "]]>", "<!--", "-->"]


@given(st.lists(st.sampled_from(MARKS), max_size=12), st.booleans())
def test_any_text_is_read_as_a_whole_parser_does_or_refused(
    tmp_path: Path, pieces: list[str], is_closed: bool
) -> None:
    text = "".join(["<all>", *pieces, "</all>" * is_closed])
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        with pytest.raises(InputError, match="not valid XML"):
            records(tmp_path / "x.xml", text)
        return
    inner = {id(below) for outer in root.iter("p") for below in outer.iter("p") if below is not outer}
    outermost = [element for element in root.iter("p") if id(element) not in inner]
    expected = ["".join(element.itertext()) for element in outermost]
    assert [text for _, _, text in records(tmp_path / "x.xml", text)] == expected

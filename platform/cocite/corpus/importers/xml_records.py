"""Reads chosen elements of an XML file one by one. Memory is bounded by the largest of them, never by the file.

A file comes from a stranger: one with declarations of its own is refused, so that no entity is expanded and no
attribute repeated; no other file, such as a DTD, is opened; depth, size and number of elements have limits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from cocite.corpus.importers.files import InputFile
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

MAX_DEPTH = 200
"""Elements within one another."""
MAX_BYTES = 16 << 20
"""Bytes from the end of one record to the end of the next; a full text takes a million."""
MAX_ELEMENTS = 500_000
"""Elements of one record, each of which takes some hundred bytes of memory."""
CHUNK = 1 << 16
"""Bytes read at a time."""

XMLRecord = tuple[tuple[Element, ...], Element]
"""The elements around a record, the outermost first, with their attributes alone; and the record."""


def xml_records(
    stream: InputFile, position: SourcePosition, names: Collection[str], root: str
) -> Iterator[XMLRecord]:
    """The elements that have one of some names; ``position.line`` is the line that the last one begins in.

    Names of elements and attributes are without their namespaces.

    Args:
        stream: the file.
        position: where the line of each record is written.
        names: of the elements; one within another is a part of it.
        root: what the outermost element must be.

    Raises:
        InputError: the file is not valid XML, has another outermost element, declarations of its own, or more of
            something than its limit: what follows cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.files import InputFile
        >>> from cocite.corpus.importers.xml_records import xml_records
        >>> from cocite.corpus.streams import SourcePosition
        >>> _ = Path("two.xml").write_text('<all year="1999"><paper id="1">A</paper><paper id="2">B</paper></all>')
        >>> with InputFile(Path("two.xml")) as stream:
        ...     for (around,), paper in xml_records(stream, SourcePosition(), {"paper"}, "all"):
        ...         print(around.get("year"), paper.get("id"), paper.text)
        1999 1 A
        1999 2 B
    """
    reader = _Reader(str(stream.path), names, root)
    since = 0
    while True:
        piece = stream.read(CHUNK)
        try:
            reader.parse(piece)
        except InputError:
            position.line = reader.line
            raise
        since = 0 if reader.found else since + len(piece)
        for line, record in reader.found:
            position.line = line
            yield record
        reader.found.clear()
        if not piece:
            return
        if since > MAX_BYTES:
            raise reader.error(f"more than {MAX_BYTES >> 20} MiB without the end of a record")


def root_of(head: bytes) -> Element | None:
    """The outermost element of a file that begins so, with its attributes alone; None when it is no XML.

    Example:
        >>> root_of(b'<?xml version="1.0"?><collection id="P18"><volume')
        <Element 'collection' at ...>
    """
    reader = _Reader("", ())
    with contextlib.suppress(InputError):
        reader.parse(head, is_whole=False)
    return reader.root


class _Reader:
    """The state of a parser between the pieces of a file.

    Attributes:
        found: line and content of the records that ended in the last piece.
        root: the outermost element without its content; None before it begins.
    """

    def __init__(self, path: str, names: Collection[str], expected: str = "") -> None:
        self.found: list[tuple[int, XMLRecord]] = []
        self.root: Element | None = None
        self._path, self._names, self._expected = path, names, expected
        self._around: list[Element] = []
        self._builder: TreeBuilder | None = None
        self._line = self._depth = self._elements = 0
        self._parser = expat.ParserCreate(namespace_separator="}")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._doctype

    def parse(self, piece: bytes, is_whole: bool = True) -> None:
        """Read a piece; an empty one ends a whole file."""
        try:
            self._parser.Parse(piece, is_whole and not piece)
        except expat.ExpatError as error:
            raise self.error(f"not valid XML: {expat.ErrorString(error.code)}") from error
        except (LookupError, ValueError) as error:
            raise self.error(f"the encoding cannot be read: {error}") from error

    @property
    def line(self) -> int:
        """The line that the parser has come to."""
        return self._parser.CurrentLineNumber

    def error(self, reason: str) -> InputError:
        """An error at the parser's place."""
        return InputError(reason, where=f"{self._path}:{self.line}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"more than {MAX_DEPTH} elements within one another")
        name = _local(name)
        attributes = {_local(key): value for key, value in attributes.items()}
        if self.root is None:
            self.root = Element(name, attributes)
            if self._expected not in ("", name):
                raise self.error(f"the outermost element is <{name[:40]}>, not <{self._expected}>")
        if self._builder is None and name in self._names:
            self._builder = TreeBuilder()
            self._line, self._elements = self.line, 0
        if self._builder is None:
            self._around.append(Element(name, attributes))
            return
        self._elements += 1
        if self._elements > MAX_ELEMENTS:
            raise self.error(f"more than {MAX_ELEMENTS:,} elements in one record")
        self._builder.start(name, attributes)

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._builder is None:
            self._around.pop()
            return
        self._builder.end(_local(name))
        if self._depth == len(self._around):
            self.found.append((self._line, (tuple(self._around), self._builder.close())))
            self._builder = None

    def _text(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)

    def _doctype(self, _name: str, _system: str | None, _public: str | None, has_own: int) -> None:
        if has_own:
            raise self.error("the DOCTYPE holds declarations, such as entities, which are not read")


def _local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]

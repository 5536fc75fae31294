"""References in a style of CSL, by the real citeproc-py."""

from __future__ import annotations

import gzip
import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from helpers.odd_papers import of_real_shape
from helpers.reference_styles import BIBLIOGRAPHY, style_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cocite.corpus.records import PaperRecord
from cocite.drafts import reference_styles
from cocite.drafts.reference_styles import FormattedReference, ReferenceStyle, by_id
from cocite.errors import InputError, NotFoundError

LEE = PaperRecord(
    "lee",
    "Trees & <i>roots</i> in $n^2$",
    "An abstract.",
    1999,
    "ACL",
    ("Ann Lee", "Ludwig van Beethoven", "OpenAI"),
    doi="10.1000/182",
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> ReferenceStyle:
    path = tmp_path_factory.mktemp("style") / "own.csl"
    path.write_text(style_of(BIBLIOGRAPHY))
    return ReferenceStyle.read(str(path))


def test_a_reference_in_every_form(own: ReferenceStyle) -> None:
    [reference] = own.references([LEE])
    names = "Lee, A., Beethoven, L. van, and OpenAI"
    title, end = "Trees & <i>roots</i> in $n^2$", "https://doi.org/10.1000/182."
    assert reference.text == f"[1] {names}, “{title}”, ACL, 1999, {end}"
    assert reference.html == f"[1] {names}, “{html.escape(title)}”, <i>ACL</i>, <b>1999</b>, {end}"
    assert reference.markdown(str.upper) == f"[1] {names}, “{title}”, *ACL*, **1999**, {end}".upper()


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("style", ["own", "harvard-cite-them-right"])
def test_a_thousand_papers_of_real_shape(own: ReferenceStyle, style: str) -> None:
    papers = of_real_shape(1000)
    made = (own if style == "own" else ReferenceStyle.read(style)).references(papers)
    assert len(made) == 1000
    for paper, reference in zip(papers, made, strict=True):
        parser = _Tags()
        parser.feed(reference.html)
        parser.close()
        # No title became markup, and the text is the same in both forms.
        assert set(parser.tags) <= {"i", "b"}
        assert "".join(parser.texts) == reference.text
        assert "".join(paper.title.lower().split()) in "".join(reference.text.lower().split())
        assert (str(paper.year) if paper.year else "") in reference.text
        assert paper.doi in reference.text


def test_papers_are_numbered_in_their_order_and_once(own: ReferenceStyle) -> None:
    papers = [PaperRecord(f"id{i}", f"Paper {chr(120 - i)}") for i in range(3)]
    found = by_id(own, [*papers, papers[0]])
    assert [(id_, reference.text[:3]) for id_, reference in found.items()] == [
        ("id0", "[1]"),
        ("id1", "[2]"),
        ("id2", "[3]"),
    ]
    assert by_id(own, []) == {}


@given(st.text(max_size=30), st.text(max_size=10), st.text(max_size=10))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_texts_stay_texts(own: ReferenceStyle, title: str, author: str, venue: str) -> None:
    paper = PaperRecord("a", title, venue=venue, authors=(author,))
    reference = own.references([paper])[0]
    assert not re.search(r"<(?!/?[ib]>)", reference.html)
    assert html.unescape(re.sub(r"</?[ib]>", "", reference.html)) == reference.text


def test_signs_of_markup_within_a_title_are_left_out(own: ReferenceStyle) -> None:
    [reference] = own.references([PaperRecord("a", "\ue000Trees\ue003 grow")])
    assert reference.html == "[1] “Trees grow”."


def test_every_form_has_its_mark() -> None:
    marked = "".join(chr(0xE000 + i) for i in range(16))
    reference = FormattedReference(marked)
    assert reference.text == ""
    assert reference.html.count("<") == 14
    assert reference.markdown(str) == "**" + "**" + "****"


def test_runs_have_the_forms_they_stand_in(own: ReferenceStyle) -> None:
    [reference] = own.references([LEE])
    runs = reference.runs
    assert "".join(text for text, _ in runs) == reference.text
    assert [(text, forms) for text, forms in runs if forms] == [("ACL", {"Italic"}), ("1999", {"Bold"})]
    nested = FormattedReference("\ue000a\ue004b\ue005\ue001c\ue003")
    assert nested.runs == [("a", {"Italic"}), ("b", {"Italic", "Bold"}), ("c", frozenset())]


def test_whether_a_style_numbers_its_references(own: ReferenceStyle) -> None:
    assert own.is_numbered
    assert not ReferenceStyle.read("harvard-cite-them-right").is_numbered
    # The number in a citation is none of the reference.
    assert not ReferenceStyle(style_of(LAYOUT.format("<text/>")).encode(), "en-US", "x").is_numbered
    named = style_of(LAYOUT.format("<text/>"), info='<category citation-format="numeric"/>')
    assert ReferenceStyle(named.encode(), "en-US", "x").is_numbered


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<html/>", "the outermost element is <html>, not <style>"),
        ("text", "not valid XML"),
        ('<!DOCTYPE style [<!ENTITY a "b">]><style/>', "the DOCTYPE holds declarations"),
        (style_of(""), r"own\.csl: has no bibliography \(name another style\)"),
        (
            style_of("", info='<link href="http://zotero.org/styles/apa" rel="independent-parent"/>'),
            "name the style it depends on: http://zotero.org/styles/apa",
        ),
        (style_of(BIBLIOGRAPHY, 'default-locale="../../x"'), r"the locale '\.\./\.\./x' is none of CSL"),
    ],
)
def test_what_is_no_style(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "own.csl").write_text(text)
    with pytest.raises(InputError, match=reason):
        ReferenceStyle.read(str(tmp_path / "own.csl"))


LAYOUT = "<bibliography><layout>{}</layout></bibliography>"


@pytest.mark.parametrize(
    "text",
    [
        LAYOUT.format('<text macro="none"/>'),
        LAYOUT.format("<unknown/>"),
        LAYOUT.format('<text macro="a"/>') + '<macro name="a"><text macro="a"/></macro>',
    ],
)
def test_what_citeproc_cannot_use(tmp_path: Path, text: str) -> None:
    (tmp_path / "own.csl").write_text(style_of(text))
    style = ReferenceStyle.read(str(tmp_path / "own.csl"))
    with pytest.raises(InputError, match=r"own\.csl: citeproc-py cannot use the style: \w+"):
        style.references([LEE])


def test_where_a_style_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFoundError, match="none: no such file or style.*some are acl"):
        ReferenceStyle.read("none")
    with pytest.raises(InputError, match="is not a file"):
        ReferenceStyle.read(str(tmp_path))
    path = tmp_path / "own.csl.gz"
    path.write_bytes(gzip.compress(style_of(BIBLIOGRAPHY).encode()))
    assert ReferenceStyle.read(str(path)).references([LEE])[0].text.startswith("[1] Lee, A.")
    monkeypatch.setattr(reference_styles, "MAX_BYTES", 100)
    with pytest.raises(InputError, match="has more than 0 MiB"):
        ReferenceStyle.read(str(path))


def test_a_style_by_name_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ieee").write_text("no style")
    assert ReferenceStyle.named("ieee").references([LEE])
    with pytest.raises(InputError, match="not valid XML"):
        ReferenceStyle.read("ieee")


def test_a_number_stands_apart(tmp_path: Path) -> None:
    number = '<text variable="citation-number" prefix="[" suffix="]"/>'
    for layout, shown in (
        (number, "[1]Trees"),
        ('<text variable="citation-number" vertical-align="sup"/>', "1Trees"),
        ('<text variable="citation-number" suffix="."/>', "1.Trees"),
    ):
        path = tmp_path / "own.csl"
        path.write_text(style_of(LAYOUT.format(f'{layout}<text variable="title"/>')))
        [reference, second] = ReferenceStyle.read(str(path)).references([PaperRecord("a", "Trees")] * 2)
        assert reference.text == shown.replace("Trees", " Trees")
        assert second.text == shown.replace("1", "2").replace("Trees", " Trees")
    path.write_text(style_of(LAYOUT.format('<text variable="title"/>')))
    assert ReferenceStyle.read(str(path)).references([PaperRecord("a", "1 tree")])[0].text == "1 tree"

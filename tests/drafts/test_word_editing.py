"""Text of .docx files put in place of other text, with everything around it as it was."""

from __future__ import annotations

from copy import deepcopy

from docx import Document
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph
from helpers.word_files import add_runs, saved
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.drafts.gaps import text_gaps
from cocite.drafts.reference_styles import FormattedReference
from cocite.drafts.word_editing import can_replace, new_paragraph, replace_text
from cocite.drafts.word_text import WordParagraph, open_word

MARKS = ("[CIT]", "[?]", "(citation needed)", "[ CIT ]")
TEXT = st.text(st.sampled_from("ab .,(é<&"), max_size=8)
WORDS = st.text(st.sampled_from("LK et, 19&<é"), min_size=1, max_size=12)


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, list[int]]:
    """A paragraph with gaps, and where its runs end."""
    parts = draw(st.lists(st.tuples(TEXT, st.sampled_from(MARKS)), min_size=1, max_size=4))
    text = "".join(before + mark for before, mark in parts) + draw(TEXT)
    return text, sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=10)))


def opened(document: object) -> WordParagraph:
    return open_word(saved(document), "a.docx").paragraphs[0]


@settings(max_examples=100, deadline=None)
@given(case=texts(), data=st.data())
def test_a_gap_in_any_runs_is_replaced_and_all_else_stays(
    case: tuple[str, list[int]], data: st.DataObject
) -> None:
    text, cuts = case
    document = Document()
    made = document.add_paragraph()
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(text)], strict=True)):
        run = made.add_run(text[start:end])
        run.bold, run.italic, run.font.name = bool(number % 2), bool(number % 3), f"Font {number}"
    paragraph = opened(document)
    assert paragraph.text == text
    before = Paragraph(deepcopy(paragraph.element), None).runs
    xml = [run._r.xml for run in Paragraph(paragraph.element, None).runs]
    spans = [match.span() for match in text_gaps(text)]
    words = [data.draw(WORDS) for _ in spans]
    wanted, at = "", 0
    for (start, end), new in zip(spans, words, strict=True):
        wanted += text[at:start] + new
        at = end
    wanted += text[at:]
    for (start, end), new in reversed(list(zip(spans, words, strict=True))):
        assert can_replace(paragraph, start, end)
        replace_text(paragraph, start, end, new)
    after = Paragraph(paragraph.element, None).runs
    assert "".join(run.text for run in after) == wanted
    assert [run.font.name for run in after] == [run.font.name for run in before]
    assert [(run.bold, run.italic) for run in after] == [(run.bold, run.italic) for run in before]
    ends = [0]
    for run in before:
        ends.append(ends[-1] + len(run.text))
    for number, run in enumerate(after):
        if not any(start < ends[number + 1] and ends[number] < end for start, end in spans):
            assert run._r.xml == xml[number]


def test_signs_within_a_gap_go_and_spaces_are_kept() -> None:
    document = Document()
    add_runs(
        document.add_paragraph(),
        "<w:r><w:t>a (citation</w:t><w:br/></w:r><w:r><w:tab/><w:t>needed) b</w:t><w:tab/></w:r>",
    )
    paragraph = opened(document)
    start, end = next(text_gaps(paragraph.text)).span()
    replace_text(paragraph, start, end, "Lee\x0b\ud800")
    assert [(child.tag.rpartition("}")[2], child.text) for run in paragraph.element for child in run] == [
        ("t", "a Lee "),
        ("t", " b"),
        ("tab", None),
    ]
    assert {
        one.get("{http://www.w3.org/XML/1998/namespace}space") for one in paragraph.element.iter(qn("w:t"))
    } == {"preserve"}


def test_an_equation_is_not_replaced() -> None:
    document = Document()
    add_runs(document.add_paragraph("as "), "<m:oMath><m:r><m:t>[?]</m:t></m:r></m:oMath>")
    paragraph = opened(document)
    assert paragraph.text == "as [?]"
    assert not can_replace(paragraph, 3, 6)
    assert can_replace(paragraph, 0, 3)


def test_a_new_paragraph_has_the_form_of_another_but_not_that_of_single_words() -> None:
    document = Document()
    model = document.add_paragraph(style="List Bullet")
    run = model.add_run("Lee.")
    run.bold, run.font.name = True, "Georgia"
    reference = FormattedReference("Kim. \ue000ACL\ue001. \ue00cn\ue00d")
    made = Paragraph(new_paragraph(model._p, reference, "[2]", tab=True), document._body)
    assert made.style.name == "List Bullet"
    assert made.text == "[2]\tKim. ACL. n"
    assert [(one.text, one.bold, one.italic, one.font.superscript, one.font.name) for one in made.runs] == [
        ("[2]", None, None, None, "Georgia"),
        ("\t", None, None, None, "Georgia"),
        ("Kim. ", None, None, None, "Georgia"),
        ("ACL", None, True, None, "Georgia"),
        (". ", None, None, None, "Georgia"),
        ("n", None, None, True, "Georgia"),
    ]
    assert Paragraph(new_paragraph(None, reference), document._body).text == "Kim. ACL. n"

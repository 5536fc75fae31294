"""Folders of PDFs."""

from __future__ import annotations

import lzma
import time
from pathlib import Path

import pytest
from helpers.pdf_files import article_file, described, encrypted, pdf_file
from helpers.printed_lists import STYLES, listed_papers, printed
from helpers.records import hits, rejects

from cocite.corpus.articles.article import Article
from cocite.corpus.articles.references import split_references
from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source, pdf
from cocite.corpus.records import ContextRecord, Malformed, PaperRecord, SentenceRecord
from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError

TITLES = {
    "bleu": "BLEU: a method for automatic evaluation of machine translation",
    "attention": "Attention is all you need",
    "bert": "BERT: Pre-training of deep bidirectional transformers",
}
PAPERS = {
    "attention": article_file(
        TITLES["attention"],
        "Translations are compared by a measure [1]. Transformers were pre-trained later [2,3], as in [3].",
        [
            f"[1] K. Papineni, S. Roukos. {TITLES['bleu']}. In Proceedings of ACL, pages 311-318, 2002.",
            f'[2] J. Devlin, M.-W. Chang. "{TITLES["bert"]}," in Proc. NAACL, 2019.',
            "[3] N. Nobody. A paper that the folder does not hold. 2001.",
        ],
    ),
    "bert": article_file(
        TITLES["bert"],
        "Transformers (Vaswani et al., 2017) read text. Papineni and Roukos (2002) measure it (Nobody, 2001).",
        [
            "Nil Nobody. 2001. A paper that the folder does not hold. In Journal of Nothing.",
            f"Kishore Papineni and Salim Roukos. 2002. {TITLES['bleu']}. In Proceedings of ACL.",
            f"Ashish Vaswani, Noam Shazeer, and Niki Parmar. 2017. {TITLES['attention']}. In NeurIPS.",
        ],
    ),
    "bleu": article_file(TITLES["bleu"], "We compare words.", head="Kishore Papineni, 2002"),
}
BROKEN = {
    "broken": PAPERS["bert"][:400],
    "empty": b"",
    "scan": pdf_file([[], []]),
    "secret": encrypted(PAPERS["bert"], "secret"),
}


def write(folder: Path, **files: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.pdf").write_bytes(data)
    return folder


def test_papers_that_cite_one_another(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", **PAPERS)
    assert detect(folder) == "pdf"
    records = list(open_source(folder))
    papers = {record.id: record for record in records if isinstance(record, PaperRecord)}
    assert {id_: paper.title for id_, paper in papers.items()} == {id_: TITLES[id_] for id_ in sorted(TITLES)}
    assert {id_: paper.citations for id_, paper in papers.items()} == {
        "attention": ("bleu", "bert"),
        "bert": ("bleu", "attention"),
        "bleu": (),
    }
    assert [paper.year for paper in papers.values()] == [2020, 2020, 2002]
    assert papers["bert"].abstract.startswith("We parse the sentences of languages")
    contexts = [record for record in records if isinstance(record, ContextRecord)]
    assert [(one.citing, one.cited, one.unresolved, one.section) for one in contexts] == [
        ("attention", ("bleu",), 0, "1 Introduction"),
        ("attention", ("bert",), 1, "1 Introduction"),
        ("bert", ("attention",), 0, "1 Introduction"),
        ("bert", ("bleu",), 0, "1 Introduction"),
    ]
    assert contexts[2].text == "Transformers TARGETCIT read text. OTHERCIT measure it OTHERCIT."
    sentences = [
        record.text for record in records if isinstance(record, SentenceRecord) and record.paper == "bert"
    ]
    assert sentences == ["Transformers [[CIT:0]] read text.", "[[CIT:1]] measure it [[CIT:2]]."]
    assert [(one.reason, one.count) for one in records if isinstance(one, Malformed)] == [
        ("1 of 3 references of attention are no papers of the folder", 1),
        ("1 of 3 references of bert are no papers of the folder", 1),
    ]


def test_what_cannot_be_read_is_rejected_alone(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", **PAPERS, **BROKEN)
    (folder / "notes.txt").write_text("about")
    source = open_source(folder)
    corpus = build(source, tmp_path / "store", rejects=tmp_path / "rejects.jsonl")
    assert corpus.ids(range(3)) == ["attention", "bert", "bleu"]
    assert source.done == source.total == sum(path.stat().st_size for path in folder.glob("*.pdf"))
    found = hits(corpus)
    assert (found["malformed"], found["unread_file"], found["unmatched_citation"]) == (4, 1, 2)
    reasons = {
        entry["file"]: entry["reason"]
        for entry in rejects(tmp_path / "rejects.jsonl")
        if entry["rule"] == "malformed"
    }
    assert reasons == {
        "broken.pdf": "is no .pdf that can be read (make it anew, or use its source)",
        "empty.pdf": "is no .pdf that can be read (make it anew, or use its source)",
        "scan.pdf": "has no text, as a scan has none (recognise its text first, or use its source)",
        "secret.pdf": "is encrypted (save it without a password)",
    }


def test_large_and_slow_files_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "in", bleu=PAPERS["bleu"], large=PAPERS["bleu"] + b" " * 20_000)
    monkeypatch.setattr(pdf, "MAX_FILE_BYTES", 10_000)
    monkeypatch.setattr("cocite.corpus.articles.reader_process.MAX_FILE_BYTES", 10_000)
    _, large = [record for record in open_source(folder) if not isinstance(record, SentenceRecord)]
    assert large == Malformed("has more than 0 MiB (leave out its pictures)")


@pytest.mark.parametrize(
    ("name", "id_"),
    [("P18-1001.pdf", "P18-1001"), ("a.PDF", "a"), ("2018/b.pdf", "2018/b"), ("c.pdf.xz", "c")],
)
def test_a_paper_is_named_by_its_file(tmp_path: Path, name: str, id_: str) -> None:
    path = tmp_path / "in" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(lzma.compress(PAPERS["bleu"]) if name.endswith(".xz") else PAPERS["bleu"])
    for source in (tmp_path / "in", path):
        first = next(iter(open_source(source)))
        assert isinstance(first, PaperRecord)
        assert first.id == (id_ if source != path else id_.rpartition("/")[2])


def test_beside_records_pdfs_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", bleu=PAPERS["bleu"])
    (folder / "refs.bib").write_text("@misc{a, title = {A}}")
    assert detect(folder) == "bibtex"
    assert [path.name for path in pdf.PDFs(folder).files] == ["bleu.pdf"]
    unread, first, *_ = open_source(folder, "pdf")
    assert isinstance(unread, Malformed)
    assert unread.rule == "unread_file"
    assert isinstance(first, PaperRecord)
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match=r"holds no \.pdf file"):
        open_source(tmp_path / "none", "pdf")


def test_a_paper_without_a_title_is_counted(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", bleu=PAPERS["bleu"], nameless=pdf_file([[(10, "word")]]))
    found = hits(build(open_source(folder), tmp_path / "store"))
    assert found == {"empty_title": 1, "sentence_of_unknown_paper": 1}


def test_a_number_of_arxiv_and_a_doi_are_links(tmp_path: Path) -> None:
    citing = article_file(
        "A paper about many trees",
        "As [1, 2] say.",
        ["[1] Other words. arXiv preprint arXiv:1706.03762, 2017.", "[2] More. https://doi.org/10.1000/ABC."],
    )
    stamp = article_file("Another title", "Words.", head="arXiv:1706.03762v5 [cs.CL] 6 Dec 2017")
    doi = article_file("A third title", "Words.", head="https://doi.org/10.1000/abc")
    first, *others = (
        record
        for record in open_source(write(tmp_path / "in", a=citing, b=stamp, c=doi))
        if isinstance(record, PaperRecord)
    )
    assert first.citations == ("b", "c")
    assert [paper.doi for paper in others] == ["10.48550/arXiv.1706.03762", "10.1000/abc"]


@pytest.mark.parametrize(
    ("reference", "cited"),
    [
        ("A. Lee. Deep trees. In ACL, 2001.", "a"),
        ("Lee, A.: Deep trees: a study of many. In: ACL (2001)", ""),
        ("A. Lee, Graphs, deep trees, and sets, ACL 2001", ""),
        ("A. Lee. Sets. Deep Trees 12(3), 2001.", ""),
        ("A. Lee. Graphs of many languages. Deep Trees, 12(3), 2001.", "b"),
        ("A. Lee. Graphs of many lan- guages. 2001.", "b"),
    ],
)
def test_which_part_of_a_reference_is_the_title(reference: str, cited: str) -> None:
    papers = pdf.NamedPapers(by_letters=True)
    papers.add("a", pdf.Named("", "", "Deep trees"))
    papers.add("b", pdf.Named("", "", "Graphs of many languages"))
    assert pdf._cited((reference,), papers) == [cited]


@pytest.mark.parametrize("style", STYLES)
def test_links_of_lists_of_many_entries(style: str) -> None:
    papers = pdf.NamedPapers(by_letters=True)
    for paper in starter_corpus().papers_at(range(len(starter_corpus()))):
        papers.add(paper.id, pdf.Named("", "", paper.title))
    right = wanted = 0
    for listed in listed_papers():
        lines = [line for entry in printed(style, listed, 60) for line in entry]
        cited = set(pdf._cited(tuple(one.text for one in split_references(lines)), papers)) - {""}
        assert cited <= {paper.id for paper in listed}, "no paper is taken for another"
        right += len(cited)
        wanted += len(listed)
    # Short titles between commas, as Elsevier prints them, are looked up by none.
    assert right >= (0.92 if style == "elsevier" else 0.98) * wanted


def test_files_are_read_side_by_side_and_come_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "in", **{f"p{number:02}": b"x" for number in range(20)})
    begun: list[str] = []

    def read(file: Path, is_text: bool) -> Article:
        begun.append(file.name)
        time.sleep(0.05 if file.name == "p00.pdf" else 0)
        assert not is_text
        return Article(f"Title of {file.stem}")

    monkeypatch.setattr(pdf, "_article", read)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(64))
    records = pdf.PDFs(folder)._articles()
    assert next(records)[0].name == "p00.pdf"
    assert len(begun) < 20, "files are not read long before they are asked for"
    rest = [file.name for file, _ in records]
    assert rest == [f"p{number:02}.pdf" for number in range(1, 20)]
    begun.clear()
    ended = pdf.PDFs(folder)._articles()
    next(ended)
    ended.close()
    time.sleep(0.2)
    assert len(begun) < 20, "what nobody asks for is not read"


def test_the_metadata_is_read(tmp_path: Path) -> None:
    data = article_file("Neural parsing of trees", "Words.", head="Ann Lee")
    folder = write(
        tmp_path / "in", a=described(data, Title="NEURAL PARSING OF TREES", CreationDate="D:20150101")
    )
    first = next(iter(open_source(folder)))
    assert isinstance(first, PaperRecord)
    assert (first.title, first.year) == ("NEURAL PARSING OF TREES", 2015)


def test_a_folder_of_texts_of_pdfs_is_read_as_its_pdfs_are(tmp_path: Path) -> None:
    def page(paper: str, year: int, body: str, reference: str) -> str:
        listed = f"\fReferences\n[1] {reference}\n" if reference else ""
        return f"{TITLES[paper]}\nSome Author, {year}\nAbstract\nWe say.\n1 Introduction\n{body}\n{listed}\f"

    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    (folder / "bleu.txt").write_text(page("bleu", 2002, "We compare words.", ""))
    reference = f"K. Papineni. {TITLES['bleu']}. In ACL, 2002."
    (folder / "deep" / "attention.txt").write_text(
        page("attention", 2017, "They are compared [1].", reference)
    )
    (folder / "broken.txt").write_bytes(b"\xff\xff")
    (folder / "notes.md").write_text("Notes")
    corpus = build(open_source(folder, "pdf-text"), tmp_path / "corpus")
    assert corpus.ids(range(len(corpus))) == ["bleu", "deep/attention"]
    assert corpus.ids(corpus.cites[1]) == ["bleu"]
    assert [paper.year for paper in corpus.papers_at([0, 1])] == [2002, 2017]
    assert hits(corpus)["malformed"] == 1

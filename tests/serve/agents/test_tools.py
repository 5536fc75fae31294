from __future__ import annotations

import re
from typing import Any

import pytest
from helpers.sure_classifier import sure_classifier

from cocite.errors import ConfigError, InputError, NotFoundError
from cocite_serve.agents.arguments import (
    MAX_GAPS,
    BibtexArguments,
    ExplainArguments,
    FillGapsArguments,
    RecommendArguments,
)
from cocite_serve.agents.texts import as_text
from cocite_serve.agents.tools import Tools

DRAFT = (
    "Neural machine translation\n"
    "An encoder and a decoder with attention align words while they translate [CIT]. "
    "The quality of translations is measured by BLEU, the overlap of n-grams with references [CIT]."
)


def test_papers_are_recommended_for_a_gap_and_for_a_manuscript(tools: Tools) -> None:
    answer = tools.recommend(RecommendArguments(text=DRAFT, gap=1, top_k=5, abstracts=True))
    assert (answer.read_as, answer.gaps, len(answer.papers)) == ("context", 2, 5)
    assert "BLEU" in answer.context
    assert [paper.rank for paper in answer.papers] == [1, 2, 3, 4, 5]
    assert all(isinstance(paper.abstract, str) for paper in answer.papers)
    whole = tools.recommend(RecommendArguments(title="Neural machine translation"))
    assert (whole.read_as, whole.context, len(whole.papers)) == ("title and abstract", "", 10)
    assert whole.papers[0].evidence.shared_words
    assert whole.papers[0].abstract is None


def test_years_and_excluded_papers_are_left_out(tools: Tools) -> None:
    asked = RecommendArguments(title="Neural machine translation", year=2015, top_k=20)
    papers = tools.recommend(asked).papers
    assert papers
    assert all(paper.year is None or paper.year <= 2015 for paper in papers)
    first = papers[0].id
    [doi] = [paper.doi for paper in papers[:1]]
    without = asked.model_copy(
        update={"exclude": [f"https://doi.org/{doi}", "no-such-paper"], "year_from": 2013}
    )
    answer = tools.recommend(without)
    assert answer.unknown == ["no-such-paper"]
    assert first not in [paper.id for paper in answer.papers]
    assert {paper.year for paper in answer.papers} <= {2013, 2014, 2015}


def test_each_gap_of_a_draft_is_filled(tools: Tools) -> None:
    asked = FillGapsArguments(text=DRAFT, top_k=4, exclude=["no-such-paper"])
    assert tools.count_gaps(asked) == 2
    answer = tools.gather(asked, [tools.fill_gap(asked, gap) for gap in range(2)])
    assert [len(filled.papers) for filled in answer.gaps] == [4, 4]
    assert answer.unknown == ["no-such-paper"]
    for filled in answer.gaps:
        alone = tools.recommend(RecommendArguments(text=DRAFT, gap=filled.gap, top_k=4))
        assert (filled.context, filled.papers) == (alone.context, alone.papers)


def test_liked_and_disliked_papers_steer_lists(tools: Tools) -> None:
    asked = RecommendArguments(text=DRAFT, gap=1, top_k=20)
    plain = [paper.id for paper in tools.recommend(asked).papers]
    seeds = {"like": ["vaswani2017attention"], "dislike": plain[:1]}
    steered = tools.recommend(asked.model_copy(update=seeds)).papers
    assert not {*seeds["like"], *seeds["dislike"]} & {paper.id for paper in steered}
    assert [paper.id for paper in steered] != plain[1:]
    assert {seed.id for paper in steered for seed in paper.evidence.seeds} == {"vaswani2017attention"}
    filled = tools.fill_gap(FillGapsArguments(text=DRAFT, top_k=10, **seeds), 1).papers
    assert [paper.id for paper in filled] == [paper.id for paper in steered[:10]]


def test_liked_papers_need_no_text(tools: Tools) -> None:
    answer = tools.recommend(RecommendArguments(like=["vaswani2017attention"], year=2016, top_k=5))
    assert (answer.read_as, answer.context, answer.note, len(answer.papers)) == ("seeds", "", "", 5)
    assert all(paper.year is None or paper.year <= 2016 for paper in answer.papers)
    assert as_text(answer).startswith("Papers near those that are liked:\n\n1. ")
    assert "   linked with the liked paper: Attention Is All You Need" in as_text(answer)


def test_seeds_may_be_named_by_other_ids(tools: Tools) -> None:
    names = ["vaswani2017attention", "https://arxiv.org/abs/1706.03762"]
    by_id, by_address = (
        tools.recommend(RecommendArguments(like=[name], dislike=["10.18653/v1/D15-1166"])) for name in names
    )
    assert by_id == by_address
    assert "luong2015effective" not in {paper.id for paper in by_id.papers}


@pytest.mark.parametrize(
    ("seeds", "sentence"),
    [
        ({"like": ["gone"]}, "like: the corpus has no paper with the id 'gone'"),
        ({"dislike": ["gone"]}, "dislike: give a text, or papers in `like`, beside what is disliked"),
        ({"title": "On BLEU", "dislike": ["gone"]}, "dislike: the corpus has no paper with the id 'gone'"),
        (
            {"like": ["devlin2019bert"], "dislike": ["devlin2019bert"]},
            "dislike: 'devlin2019bert' is liked, too (give it in one of the two lists)",
        ),
    ],
)
def test_a_wrong_list_of_seeds_is_refused(tools: Tools, seeds: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        tools.recommend(RecommendArguments(**seeds))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no gap", "text: it holds no [CIT] (mark each missing citation with [CIT])"),
        (
            "[CIT] " * 21,
            "text: it holds 21 [CIT], and 20 are filled at a time (send one section after the other)",
        ),
    ],
)
def test_a_draft_without_gaps_or_with_too_many_is_refused(tools: Tools, text: str, sentence: str) -> None:
    assert MAX_GAPS == 20
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        tools.count_gaps(FillGapsArguments(text=text))


def test_a_paper_is_explained_with_its_place_in_the_list(tools: Tools) -> None:
    listed = tools.recommend(RecommendArguments(text=DRAFT, gap=1, top_k=5)).papers
    for paper in listed:
        explained = tools.explain(ExplainArguments(id=paper.id, text=DRAFT, gap=1))
        assert (explained.rank, explained.of) == (paper.rank, 300)
        assert explained.evidence == paper.evidence
        assert explained.paper.model_dump() == {
            name: value for name, value in paper.model_dump().items() if name in explained.paper.model_dump()
        }


def test_a_later_paper_is_explained_though_it_is_not_recommended(tools: Tools) -> None:
    explained = tools.explain(
        ExplainArguments(id="devlin2019bert", title="Pretrained language understanding", year=2010)
    )
    assert (explained.rank, explained.later) == (None, True)
    assert "language" in [shared.word for shared in explained.evidence.shared_words]


def test_an_unknown_paper_is_named(tools: Tools) -> None:
    with pytest.raises(NotFoundError, match="^id: no paper has the id 'no-such-paper'$"):
        tools.explain(ExplainArguments(id="no-such-paper", title="BLEU"))
    with pytest.raises(NotFoundError, match="^id: no paper has the id 'no-such-paper'$"):
        tools.get_bibtex(BibtexArguments(ids=["devlin2019bert", "no-such-paper"]))


def test_bibtex_has_each_paper_once_with_the_keys_that_are_told(tools: Tools) -> None:
    ids = ["papineni2002bleu", "devlin2019bert", "papineni2002bleu"]
    answer = tools.get_bibtex(BibtexArguments(ids=ids))
    assert [key.id for key in answer.keys] == ids[:2]
    assert re.findall(r"@\w+\{(\w+),", answer.bibtex) == [key.key for key in answer.keys]


def test_keys_of_bibtex_are_made_as_is_asked(tools: Tools) -> None:
    answer = tools.get_bibtex(BibtexArguments(ids=["vaswani2017attention"], cite_keys="better-bibtex"))
    assert answer.keys[0].key == "vaswaniAttentionAllYou2017"
    assert "{vaswaniAttentionAllYou2017," in answer.bibtex


def test_keys_of_bibtex_differ_from_those_that_are_taken(tools: Tools) -> None:
    asked = BibtexArguments(ids=["vaswani2017attention"], taken=["Vaswani2017attention"])
    assert tools.get_bibtex(asked).keys[0].key == "vaswani2017attentionb"
    with pytest.raises(ConfigError, match="taken: list should have at most 500 items"):
        BibtexArguments.parse({"ids": ["a"], "taken": ["k"] * 501}, where="get_bibtex")


def test_references_are_formatted_where_a_style_is_named(tools: Tools) -> None:
    asked = {"ids": ["papineni2002bleu"], "style": "harvard-cite-them-right"}
    answer = tools.get_bibtex(BibtexArguments.parse(asked, where="get_bibtex"))
    assert [line.startswith("Papineni, K.") for line in answer.formatted] == [True]
    assert as_text(answer) == f"{answer.bibtex}\n\n{answer.formatted[0]}"
    apa = tools.get_bibtex(BibtexArguments.parse({**asked, "style": "apa"}, where="get_bibtex"))
    assert apa.formatted[0].startswith("Papineni, K., Roukos, S., Ward, T., & Zhu, W.")
    with pytest.raises(ConfigError, match="style: .*no style has this name; some are acl, acm, apa"):
        BibtexArguments.parse({**asked, "style": "none"}, where="get_bibtex")


def test_the_index_is_described(tools: Tools) -> None:
    assert tools.description == "423 papers of 1960 to 2023"


def test_lists_for_a_text_unlike_the_corpus_say_so(tools: Tools) -> None:
    letters = "xqzt wvkj pfgh bnmr tyhg"
    note = "this text is unlike the papers of the corpus, which may hold nothing for it"
    answer = tools.recommend(RecommendArguments(title=letters))
    assert (answer.unlike_corpus, answer.note) == (True, note)
    assert f"{note[0].upper()}{note[1:]}." in as_text(answer)
    filled = tools.fill_gap(FillGapsArguments(text=f"{letters} [CIT]"), 0)
    assert (filled.unlike_corpus, filled.note) == (True, note)
    known = tools.recommend(RecommendArguments(text=DRAFT, gap=1))
    assert (known.unlike_corpus, known.note) == (False, "")


def test_sentences_that_need_a_citation_have_papers(tools: Tools) -> None:
    recommender = tools._recommender
    sure = Tools(recommender, sure_classifier())
    text = "# Trees\n\nWe split rare words into subword units in all of our systems. This is [@lee99]."
    asked = FillGapsArguments(text=text, suggest=3, top_k=2)
    assert sure.count_gaps(asked) == 0
    [found] = sure.sentences(asked)
    answer = sure.gather(asked, [], [sure.fill_sentence(asked, found)])
    [one] = answer.suggestions
    assert answer.suggestion_quality is not None
    assert answer.suggestion_quality.model_dump() == {"precision": 0.47, "recall": 0.53}
    assert "In papers that the model has not seen, 47 of 100 sentences that it picks cite;" in as_text(answer)
    assert sure.gather(FillGapsArguments(text=DRAFT), []).suggestion_quality is None
    assert (one.line, one.sentence) == (3, "We split rare words into subword units in all of our systems.")
    assert "Subword" in one.papers[0].title
    assert "Suggestion 1, line 3, probability 0.73: We split rare words" in as_text(answer)
    assert sure.sentences(FillGapsArguments(text=DRAFT)) == []
    with pytest.raises(InputError, match=r"suggest: the model does not know which sentences need a citation"):
        tools.sentences(asked)

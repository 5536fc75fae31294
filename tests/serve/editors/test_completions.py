from __future__ import annotations

from pathlib import Path

import pytest
from helpers.noisy_cross_encoder import NoisyCrossEncoder
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.records import PaperRecord
from cocite.drafts.draft import Kind
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite_serve.editors import completions
from cocite_serve.editors.completions import MAX_ITEMS, Completer, Offer, fits, words_of
from cocite_serve.editors.cursor import find_spot

SENTENCE = "The quality of translations is measured by BLEU "


def offers(completer: Completer, text: str, kind: Kind = "latex", path: Path | None = None) -> list[Offer]:
    at = text.index("|") if "|" in text else len(text)
    text = text.replace("|", "")
    spot = find_spot(text, at, kind)
    assert spot is not None
    return completer.offers(text, spot, kind, path)[0]


def test_the_papers_are_those_that_the_recommender_gives(completer: Completer) -> None:
    found = offers(completer, SENTENCE + "\\cite{")
    query = completer.recommender.query(context=SENTENCE + "TARGETCIT")
    ranked = completer.recommender.recommend(query)
    assert [offer.paper.id for offer in found] == [paper.id for paper in ranked[:MAX_ITEMS]]
    assert all(offer.is_new and offer.evidence is not None for offer in found)


def test_a_cross_encoder_is_left_out_for_it_takes_longer_than_an_author_waits(completer: Completer) -> None:
    plain = completer.recommender
    reader = NoisyCrossEncoder(plain.index.corpus)
    second = SecondStage(plain.index, cross_encoder=reader)
    with_reader = Completer(Recommender(plain.first, second))
    text = SENTENCE + "\\cite{"
    assert [offer.key for offer in offers(with_reader, text)] == [
        offer.key for offer in offers(completer, text)
    ]
    assert reader.pairs == 0


def test_what_is_typed_chooses_by_key_title_author_and_year(completer: Completer) -> None:
    for typed in ("papi", "papineni2002b", "automatic eval", "ROUKOS", "2002", "bleu method papineni"):
        found = offers(completer, f"{SENTENCE}\\cite{{{typed}")
        assert found[0].key == "papineni2002bleu", typed
        assert all(fits(offer, words_of(typed)) for offer in found)


def test_new_keys_are_made_as_is_asked(completer: Completer) -> None:
    better = Completer(completer.recommender, "better-bibtex")
    for typed in ("", "papi", "papineniBLEUmeth", "2002"):
        assert offers(better, f"{SENTENCE}\\cite{{{typed}")[0].key == "papineniBLEUMethodAutomatic2002", typed


def test_a_title_is_found_whatever_the_context_is(completer: Completer) -> None:
    found = offers(completer, "Dogs bark at the moon \\cite{attention is all you")
    assert found[0].paper.title == "Attention Is All You Need"
    assert offers(completer, SENTENCE + "\\cite{zzzzzzzz") == []


def test_an_author_is_found_whatever_the_context_is(completer: Completer) -> None:
    text = "Dogs bark at the moon \\cite{papineni"
    assert [offer.key for offer in offers(completer, text)] == ["papineni2002bleu"]
    assert offers(completer, text + " 1999") == []
    dated = "\\date{2001}\n\\begin{document}\n" + text
    assert offers(completer, dated) == [], "it is later than the draft"


def test_a_draft_without_words_is_asked_by_its_title_then_by_what_is_typed(completer: Completer) -> None:
    titled = "\\title{Automatic evaluation of machine translation}\\begin{document}\\cite{|}\\end{document}"
    assert "papineni2002bleu" in [offer.key for offer in offers(completer, titled)]
    assert offers(completer, "\\cite{") == []
    assert [offer.key for offer in offers(completer, "\\cite{papineni bleu")] == ["papineni2002bleu"]
    assert offers(completer, "\\cite{method for automatic")[0].key == "papineni2002bleu"


def test_own_keys_are_kept_and_what_stands_there_is_not_offered_again(
    completer: Completer, tmp_path: Path
) -> None:
    (tmp_path / "refs.bib").write_text(
        "@misc{ours, title={BLEU: a Method for Automatic Evaluation of Machine Translation}}\n"
        "@misc{other, title={Bleuish things}, author={Nobody Known}}\n"
        "@misc{devlin2019bert, title={Not that one}}\n"
    )
    head, path = "\\bibliography{refs}\n", tmp_path / "a.tex"
    [first, *rest] = offers(completer, f"{head}{SENTENCE}\\cite{{|}}", path=path)
    assert (first.key, first.is_new) == ("ours", False)
    assert "other" not in [offer.key for offer in rest]
    assert "ours" not in [o.key for o in offers(completer, f"{head}{SENTENCE}\\cite{{ours, |}}", path=path)]
    assert offers(completer, f"{head}{SENTENCE}\\cite{{known|}}", path=path)[0].key == "other"
    keys = [offer.key for offer in offers(completer, f"{head}A model BERT \\cite{{devlin|}}", path=path)]
    assert "devlin2019bertb" in keys, "a key that is taken gets a letter"


def test_one_retrieval_serves_a_citation_while_its_key_is_typed(
    completer: Completer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    recommend = Recommender.recommend

    def counting(self: Recommender, *args: object) -> object:
        asked.append(args)
        return recommend(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Recommender, "recommend", counting)
    fresh = Completer(completer.recommender)
    for typed in ("", "p", "pa", "pap"):
        assert offers(fresh, f"{SENTENCE}\\cite{{{typed}|}} and more.")
    assert len(asked) == 1
    monkeypatch.setattr(completions, "_KEPT", 2)
    for number in range(4):
        offers(fresh, f"Sentence {number} about BLEU \\cite{{")
    assert len(fresh._answers) == 2


@given(st.text(max_size=30))
def test_every_beginning_of_a_paper_s_words_fits_it(text: str) -> None:
    offer = Offer("lee99", PaperRecord("a", text, authors=("Ann Lee",), year=1999), True)
    for word in words_of(text):
        assert fits(offer, [word[: max(1, len(word) // 2)], "lee"])
    assert words_of(" ".join(words_of(text))) == words_of(text)

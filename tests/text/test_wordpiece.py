"""A vocabulary of word pieces made of one's own texts."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer

from cocite.corpus.synth import Synthetic
from cocite.text.wordpiece import LETTERS, SPECIAL, train_wordpiece


def texts() -> list[str]:
    papers = (record for record in Synthetic(60, seed=3) if hasattr(record, "title"))
    return [f"{paper.title} {paper.abstract}" for paper in papers]


def test_common_words_are_one_piece_and_unknown_ones_several() -> None:
    known = ["the parsing of trees", "Parsing the trees"] * 3
    tokenizer = train_wordpiece(lambda: known, 200)
    assert tokenizer.tokenize("Parsing TREES") == ["parsing", "trees"]
    assert "".join(tokenizer.tokenize("treparse")).replace("##", "") == "treparse"
    assert tokenizer.tokenize("x") == ["[UNK]"]


def test_the_special_tokens_come_first_and_frame_a_pair() -> None:
    tokenizer = train_wordpiece(texts, 300)
    assert tokenizer.convert_ids_to_tokens(list(range(5))) == list(SPECIAL)
    pair = tokenizer("a", "b")
    marks = tokenizer.convert_ids_to_tokens(pair["input_ids"])
    assert (marks[0], marks[2], marks[-1]) == ("[CLS]", "[SEP]", "[SEP]")
    assert pair["token_type_ids"] == [0, 0, 0, 1, 1]
    assert (tokenizer.mask_token_id, tokenizer.pad_token_id) == (4, 0)


def test_the_same_texts_give_the_same_vocabulary() -> None:
    vocabularies = [train_wordpiece(texts, 500).get_vocab() for _ in range(4)]
    assert all(vocabulary == vocabularies[0] for vocabulary in vocabularies)
    assert len(vocabularies[0]) == 500


def test_rare_characters_are_left_out() -> None:
    many = ["".join(chr(0x4E00 + i) + " " for i in range(LETTERS + 200)), "common words " * 5]
    vocabulary = train_wordpiece(lambda: many, 5000).get_vocab()
    assert sum(1 for token in vocabulary if len(token) == 1) == LETTERS


def test_what_was_saved_reads_the_same(tmp_path: Path) -> None:
    tokenizer = train_wordpiece(texts, 300)
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    text = texts()[7]
    assert again.tokenize(text) == tokenizer.tokenize(text)
    assert again("a", "b") == tokenizer("a", "b")
    assert again.is_fast


def test_case_can_be_kept() -> None:
    tokenizer = train_wordpiece(lambda: ["Parsing Trees"] * 3, 200, lowercase=False)
    assert tokenizer.tokenize("Parsing parsing") != ["Parsing", "Parsing"]
    assert tokenizer.tokenize("Parsing") == ["Parsing"]

"""A WordPiece vocabulary of one's own texts, in the form that BERT's is in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer
from transformers import BertTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LEAST = 2
"""Times that two pieces must stand together to become one."""
LETTERS = 1000
"""Characters at most; a word with another one is unknown."""


def train_wordpiece(texts: Callable[[], Iterable[str]], size: int, *, lowercase: bool = True) -> Any:
    """A Hugging Face tokenizer with a vocabulary of some texts' most useful pieces; the same texts give the same one.

    Texts are cut at spaces and punctuation, and (``lowercase``) lower-cased with accents dropped, as BERT's uncased
    models do; a pair reads ``[CLS] A [SEP] B [SEP]``.

    Args:
        texts: gives the texts; called twice.
        size: pieces at most, the special ones included; not fewer than all characters need.
        lowercase: whether case is dropped.
    """
    normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    counts = Counter[str]()
    for text in texts():
        counts.update(normalizer.normalize_str(text))
    counts = Counter({letter: count for letter, count in counts.items() if not letter.isspace()})
    letters = sorted(sorted(counts, key=lambda letter: (-counts[letter], letter))[:LETTERS])
    # The trainer numbers characters within words as it meets them, in an order that differs each time, and settles
    # ties between pieces by number. Told of them beforehand, it has nothing left to choose.
    inner = [f"##{letter}" for letter in letters]
    draft = Tokenizer(WordPiece(unk_token="[UNK]"))
    draft.normalizer, draft.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    trainer = WordPieceTrainer(
        vocab_size=size,
        min_frequency=LEAST,
        special_tokens=[*SPECIAL, *inner],
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        show_progress=False,
    )
    draft.train_from_iterator(texts(), trainer)
    # A draft, for it holds the inner characters as special tokens too, to be found anywhere in a text.
    tokenizer = Tokenizer(WordPiece(draft.get_vocab(), unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    marks = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    names = dict(
        zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True)
    )
    return BertTokenizerFast(tokenizer_object=tokenizer, do_lower_case=lowercase, **names)

"""Trains a WordPiece vocabulary, in the form of BERT's."""

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
"""Times that two pieces must be adjacent to be merged."""
LETTERS = 1000
"""Most characters; a word with another one is unknown."""


def train_wordpiece(texts: Callable[[], Iterable[str]], size: int, *, lowercase: bool = True) -> Any:
    """Train a Hugging Face tokenizer on some texts; the same texts give the same tokenizer.

    Texts are split at spaces and punctuation, and with ``lowercase`` lower-cased without accents, as BERT's uncased
    models do; a pair reads ``[CLS] A [SEP] B [SEP]``.

    Args:
        texts: returns the texts; it is called twice.
        size: most pieces, with the special ones; not fewer than all characters need.
        lowercase: whether case is dropped.

    Example:
        >>> tokenizer = train_wordpiece(lambda: ["parsing", "parsers", "parsing"], size=40)
        >>> tokenizer.tokenize("Parsing parses")
        ['parsing', 'pars', '##e', '##s']
    """
    normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    counts = Counter[str]()
    for text in texts():
        counts.update(normalizer.normalize_str(text))
    counts = Counter({letter: count for letter, count in counts.items() if not letter.isspace()})
    letters = sorted(sorted(counts, key=lambda letter: (-counts[letter], letter))[:LETTERS])
    # The trainer numbers the characters within words in the order of a hash table, which differs in each run, and
    # breaks ties between pieces by number. Given these characters beforehand, it numbers them in a fixed order.
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
    # The draft has these characters as special tokens, which match anywhere in a text; the tokenizer must not.
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

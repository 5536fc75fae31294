"""Neural building blocks that know no system: packed attention, pretrained transformers, word vectors, weight files."""

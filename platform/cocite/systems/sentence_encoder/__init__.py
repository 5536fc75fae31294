"""Sentence encoder: a public bi-encoder, used as it is.

N. Reimers, I. Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", EMNLP 2019.

Order of reading: ``encoder`` (texts to vectors), ``forward`` (tokens to vectors, by cocite's packed BERT or by the
model's own forward), ``pooling`` (states of tokens to a vector), ``folders`` (pooling and prompts of a
sentence-transformers folder), ``module_files`` (writes such a folder), ``recipe`` (which encoder becomes a component of
a model folder). Nothing is trained, so there is no task.
"""

"""Pretraining of MP-BERT4CR's encoder on a corpus' own papers: a decoder predicts hidden sentences.

Xingxing Zhang, Furu Wei and Ming Zhou (2019): HIBERT: Document Level Pre-training of Hierarchical Bidirectional
Transformers for Document Summarization. ACL 2019, section 3.2; MP-BERT4CR adapts it (section 4).

Read the modules in this order:

| module | content |
| --- | --- |
| ``decoder`` | predicts a sentence's tokens from its state in the document |
| ``network`` | encoder and decoder together; saves and loads the encoder |
| ``losses`` | the mean cross-entropy of each document's hidden tokens |
| ``recipe`` | all settings of a pretraining |
| ``examples`` | papers as documents with some sentences hidden |
| ``vector_examples``, ``vector_network``, ``vector_task`` | the sentence level alone, on a trunk's vectors |
| ``task`` | what the training engine trains, and ``build``, which makes it |
"""

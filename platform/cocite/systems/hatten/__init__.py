"""HAtten: the hierarchical-attention text encoder, a bi-encoder that retrieves candidates for citation contexts.

Nianlong Gu, Yingqiang Gao and Richard H. R. Hahnloser (2022): Local Citation Recommendation with Hierarchical-Attention
Text Encoder and SciBERT-Based Reranking. ECIR 2022. Sections, equations and symbols in the docstrings are this paper's.

Read the modules in this order:

| module | content |
| --- | --- |
| ``layers`` | a transformer layer and multi-head pooling (Eq. 1 and 2) |
| ``network`` | two levels of attention over words and paragraphs (section 4.1), as a torch module |
| ``encoder`` | the trained network as an :class:`~cocite.protocols.Encoder`; saves and loads it |
| ``losses`` | the triplet loss (Eq. 3) |
| ``recipe`` | all settings of a training |
| ``texts``, ``initial_vectors`` | artifacts made before workers start: numbered words, word vectors |
| ``examples`` | contexts and papers as numbered paragraphs; what is drawn for an example, and its batch |
| ``mining`` | negatives and further positives that the current weights find (section 4.3) |
| ``base_task`` | what both objectives share: examples, mining, dev metrics, export |
| ``in_batch_task`` | softmax over all papers of a step |
| ``triplet_task`` | the triplets of the paper |
| ``task`` | builds the task of a recipe |
"""

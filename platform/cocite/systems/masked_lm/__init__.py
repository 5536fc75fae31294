"""Masked language modelling of a small BERT on a corpus' own texts, for users without pretrained weights.

Jacob Devlin, Ming-Wei Chang, Kenton Lee and Kristina Toutanova (2019): BERT: Pre-training of Deep Bidirectional
Transformers for Language Understanding. NAACL 2019, section 3.1. Tokens are masked dynamically: Yinhan Liu et al.
(2019): RoBERTa: A Robustly Optimized BERT Pretraining Approach, section 4.1. The encoder serves as the backbone of a
cross-encoder.

Read the modules in this order:

| module | content |
| --- | --- |
| ``network`` | a BERT with its masked-language head; saves the encoder |
| ``losses`` | the mean cross-entropy of each text's hidden tokens |
| ``texts`` | a corpus' texts as pieces of tokens, an artifact of the model folder |
| ``recipe`` | all settings of a training |
| ``examples`` | pieces of text with some tokens hidden |
| ``task`` | what the training engine trains, and ``build``, which makes it |
"""

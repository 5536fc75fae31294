"""A bi-encoder: any pretrained encoder, fine-tuned so that a query lies near to the papers that it cites.

Vladimir Karpukhin et al. (2020): Dense Passage Retrieval for Open-Domain Question Answering. EMNLP 2020, section 3.2
(in-batch negatives). Arman Cohan et al. (2020): SPECTER: Document-level Representation Learning using
Citation-informed Transformers. ACL 2020 (citations as the signal). MP-BERT4CR (section 5.2) fine-tunes SciBERT and
SPECTER as baselines. What is exported is a sentence-transformers folder, which every part of cocite that takes an
encoder reads: ``cocite train sentence encoder=MODEL/bi-encoder`` makes it a retriever.

Read the modules in this order:

| module | content |
| --- | --- |
| ``network`` | an encoder with its pooling; saves the folder |
| ``citations`` | the citations that are trained on and the dev queries as tokens, an artifact of the model folder |
| ``recipe`` | all settings of a training |
| ``task`` | what the training engine trains, and ``build``, which makes it |
"""

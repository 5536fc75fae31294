"""The systems that cocite trains and serves, one folder each.

| folder | system | source |
| --- | --- | --- |
| ``citeomatic`` | NNSelect and NNRank | Bhagavatula et al. 2018 |
| ``hatten`` | HAtten, the hierarchical-attention bi-encoder | Gu et al. 2022 |
| ``mp_bert4cr`` | MP-BERT4CR and its hierarchical pretraining | Zhang and Ma 2021 |
| ``bi_encoder`` | any pretrained encoder, fine-tuned on citations | Karpukhin et al. 2020; Cohan et al. 2020 |
| ``cross_encoder`` | the SciBERT reranker, local and global | Gu et al. 2022; Nogueira et al. 2020 |
| ``masked_lm`` | masked language modelling of a transformer on the corpus | Devlin et al. 2019 |
| ``learned_fusion`` | LambdaMART over all signals | Burges 2010 |
| ``citing_sentences`` | which sentences need a citation | Bonab et al. 2018; Zeng and Acuna 2020 |
| ``sentence_encoder`` | a public sentence encoder, used as it is | Reimers and Gurevych 2019 |
| ``baselines`` | the systems that MP-BERT4CR is compared with | named in each module |

The modules of a folder have the same names wherever a system has the part: ``network``, ``losses``, ``recipe``,
``examples`` and ``task`` train it; ``network``, ``encoder`` and ``reranker`` serve it and import none of the former.
The docstring of each folder names the paper and the order in which to read the modules.
"""

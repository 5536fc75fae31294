"""Texts as words, sentences and tokens: what the systems read.

| read by | modules |
| --- | --- |
| all | ``gaps`` (citation marks), ``queries`` (queries of a corpus), ``paper_text`` |
| BM25 | ``tokens`` |
| NNSelect, NNRank | ``vocabulary``, ``fields`` (bags of words and names) |
| HAtten, the baselines | ``word_counts``, ``paragraphs``, ``paragraph_reader`` (words in order) |
| the cross-encoder | ``token_lists``, ``token_files``, ``pair_batch``, ``pair_tokenizer`` |
| MP-BERT4CR | ``sentences``, ``sentence_texts``, ``documents``, ``wordpiece`` |
"""

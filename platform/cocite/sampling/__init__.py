"""Random draws and samplers that several systems share.

| module | content |
| --- | --- |
| ``draws`` | random numbers that are a function of seed, epoch, example and position |
| ``noise`` | negatives drawn by citation counts (MP-BERT4CR, Eq. 2) |
| ``random_papers`` | papers drawn evenly from the corpus, none later than the citing paper where that is asked |
| ``neighbours`` | exhaustive nearest-neighbour search, and the papers that neighbours cite |
| ``neighbour_lists`` | the same of very many queries, by inverted lists |
"""

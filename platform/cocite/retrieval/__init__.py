"""Finding candidates: BM25, vectors, citing sentences, expansion, fusion, index snapshots."""

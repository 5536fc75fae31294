"""What scores papers for texts or vectors: BM25, FAISS, and BM25 over anchor texts."""

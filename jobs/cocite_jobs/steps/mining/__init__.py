"""Mining a cross-encoder's candidates in blocks of queries, which workers search side by side."""

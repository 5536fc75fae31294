"""Papers, citations, contexts and sentences: records, importers, the Arrow store, splits, history."""

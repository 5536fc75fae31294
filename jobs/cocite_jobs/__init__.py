"""What runs and ends: training, embedding, indexing, evaluation."""

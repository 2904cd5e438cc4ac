"""Cross-encoders: texts to tokens, packed sequences, BERT, training."""

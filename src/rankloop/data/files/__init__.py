"""Files as bytes, text blocks and growing arrays."""

"""What was shown and what people did: signed, spooled, stored, read back."""

"""Pages that were shown and what people did on them: signed, spooled, stored, read back."""

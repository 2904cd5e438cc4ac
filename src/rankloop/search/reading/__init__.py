"""How files of documents are read: tables, and markup."""

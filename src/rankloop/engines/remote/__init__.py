"""What engines on other machines share: addresses, credentials, candidates and statistics."""

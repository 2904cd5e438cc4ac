"""How click models are fitted: pages, parameters, expected counts, EM."""

"""Pages made from results of other families."""

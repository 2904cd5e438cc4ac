"""The service on the web: routes, schema, limits, the process."""

"""The search page and the dashboard: rendered here, usable without scripts, nothing from other sites."""

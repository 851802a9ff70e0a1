"""Who may call what: API keys, sessions, roles, and the check at every route."""

"""Authentication and authorization: API keys, sessions, roles, and the right that each route needs."""

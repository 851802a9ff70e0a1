"""Routes of the HTTP API and of the web pages."""

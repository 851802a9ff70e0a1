"""Webhooks: which URLs are registered, which targets are allowed, and how messages are sent."""

"""Webhooks: registered URLs, allowed targets, and the thread that sends messages."""

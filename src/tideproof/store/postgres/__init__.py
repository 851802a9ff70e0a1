"""Experiments in PostgreSQL: connections, their pool, tables and errors."""

"""Planned looks: spending functions, group-sequential boundaries, and bounds for several arms."""

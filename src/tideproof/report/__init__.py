"""Figures and reports: data first, drawing second."""

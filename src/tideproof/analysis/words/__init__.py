"""Sentences for reports on the results of an analysis: verdict, notes, warnings, answers to questions."""

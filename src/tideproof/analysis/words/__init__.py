"""Sentences on the results of an analysis: verdict, notes, warnings and answers, which reports lay out."""

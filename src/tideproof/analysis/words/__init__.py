"""Sentences on the decision of a log: verdict, notes, warnings and answers; reports only lay them out."""

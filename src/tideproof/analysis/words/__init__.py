"""Sentences on the best arm of a log: verdict, notes, warnings and answers; reports only lay them out."""

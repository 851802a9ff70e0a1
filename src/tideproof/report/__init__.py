"""A fit in words, pages and tables on a screen; what it shows was decided and computed elsewhere."""

"""Reports of a fit or an experiment: as text, HTML pages and terminal tables, without any statistics."""

"""Reports of a log's analysis or of an experiment, as text, HTML pages and tables in a terminal."""

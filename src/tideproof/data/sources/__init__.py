"""Sources of logs: files, databases, data frames, arrays and standard input."""

"""Where logs come from: files, databases, data frames, arrays and pipes."""

"""When a running experiment may stop, and intervals that hold at every look."""

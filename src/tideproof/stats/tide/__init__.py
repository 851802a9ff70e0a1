"""Hidden tide: arm means and shifts over time, estimated from logs without environment labels."""

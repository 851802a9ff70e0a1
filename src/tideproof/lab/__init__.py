"""The lab: replications of policies in worlds, by the thousand, and what they say."""

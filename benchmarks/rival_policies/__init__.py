"""Policies that assign visitors and select a winner as experiment platforms do."""

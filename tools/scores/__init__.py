"""Shared scoring instruments: one file each, computed from the published definition."""

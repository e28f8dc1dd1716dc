"""The command line: parses, calls, prints. Nothing is decided here."""

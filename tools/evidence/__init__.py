"""Tools that every domain offers: evidence search, guidelines, drug facts, thinking and the episode's status."""

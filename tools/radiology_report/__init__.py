"""Reading studies with priors and writing structured reports."""

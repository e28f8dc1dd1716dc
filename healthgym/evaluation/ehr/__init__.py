"""Questions to ICU records: typed answers computed from the tables by two independent queries, found with tools."""

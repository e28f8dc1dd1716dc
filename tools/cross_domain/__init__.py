"""One patient carried through several services: pathways with deadlines, transfers and handovers."""

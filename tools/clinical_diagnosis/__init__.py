"""Clinical diagnosis: work up a patient, name the illness, start what comes first."""

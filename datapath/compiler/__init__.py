"""Model to the core's flat program: names resolved, chains checked, ops packed."""

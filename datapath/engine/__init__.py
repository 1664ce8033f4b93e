"""The node: `Datapath` owns the compiled state and plays packets through it."""

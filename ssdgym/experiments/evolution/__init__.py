"""Evolution of agents: a search for weights by whole runs inside the engine, each beside a baseline's."""

"""Real training under one budget, with the tools that a user could take instead; run by ``python benchmarks/live``."""

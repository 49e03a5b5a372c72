"""Scripts that make the figures in docs/benchmarks.md; a package, so that no other one of this name is found first."""

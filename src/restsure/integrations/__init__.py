"""restsure inside the tools people already use: each an optional extra, imported when asked for."""

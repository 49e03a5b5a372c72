"""restsure inside other libraries: one module each, imported only by those who ask for it."""

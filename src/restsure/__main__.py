"""``python -m restsure``: the command line."""

from restsure.cli import main

main()

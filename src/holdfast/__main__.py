"""`python -m holdfast`: the command, where it is not on the path."""

from holdfast.cli.main import main

main()

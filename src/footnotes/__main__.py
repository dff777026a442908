"""`python -m footnotes`."""

from footnotes.cli import main

main()

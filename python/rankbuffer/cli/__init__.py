"""The command line, ``rankbuffer`` or ``python -m rankbuffer``; one module for each command."""

from .main import main as main

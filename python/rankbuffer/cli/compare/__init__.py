"""``rankbuffer compare``: all methods on the same groups with the same judge."""

from .command import add as add

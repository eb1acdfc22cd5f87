"""``rankbuffer score``: batch scoring of group rows."""

from .command import add as add

"""``rankbuffer rubrics``: has the judge write rubrics for queries that have none."""

from .command import add as add

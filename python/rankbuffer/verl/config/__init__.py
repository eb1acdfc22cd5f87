"""The configuration under ``reward.rankbuffer``: read, checked and written."""

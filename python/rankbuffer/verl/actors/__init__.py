"""Owners of buffers as Ray actors, for several reward workers."""

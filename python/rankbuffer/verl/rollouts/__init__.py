"""Rows of verl's reward loop as rollouts."""

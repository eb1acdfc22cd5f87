"""The rollouts of a uid come together and are scored as a group."""

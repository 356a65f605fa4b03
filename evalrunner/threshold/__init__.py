"""Rules that turn figures into a verdict. One class an option of the config group `threshold`."""

"""Which items are taken. One class an option of the config group `sampler`."""

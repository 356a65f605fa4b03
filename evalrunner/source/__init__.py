"""Where items come from. One class an option of the config group `source`."""

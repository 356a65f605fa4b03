"""What scores outcomes. One class an option of the config group `judge`."""

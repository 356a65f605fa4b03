"""The generic runner: from source to receipt, the same way for every eval."""

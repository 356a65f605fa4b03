"""One file a command: thin, they parse nothing and decide nothing that the pipeline could."""

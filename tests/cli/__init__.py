"""The command line, most of it through processes of its own."""

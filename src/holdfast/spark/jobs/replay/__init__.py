"""The job `replay`: an archive back into topics."""

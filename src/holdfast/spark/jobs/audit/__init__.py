"""The job `audit`: every record that was promised is there."""

"""The job `merge`: topics of several clusters into one order."""

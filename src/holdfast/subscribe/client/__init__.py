"""The side that an application uses: `subscribe`."""

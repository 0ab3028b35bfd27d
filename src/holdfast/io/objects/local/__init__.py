"""An object store in a local directory."""

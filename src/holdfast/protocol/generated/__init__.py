"""The message classes, a module for each API. Made by `holdfast.protocol.schemas.generate`."""

"""A provider that plays recorded scenes, in `adapter`."""

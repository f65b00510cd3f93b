"""A provider that plays recorded scenes, in `replay_adapter`."""

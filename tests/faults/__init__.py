"""What may go wrong on the way to Discord, tried at every place where it can."""

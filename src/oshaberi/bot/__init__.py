"""The bot itself: a Discord client, its commands, and the wiring of everything else."""

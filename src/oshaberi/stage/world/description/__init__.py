"""Builds a world from a short description; `World.described` is the way in."""

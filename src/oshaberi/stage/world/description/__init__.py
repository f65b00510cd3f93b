"""Builds a world from a short description. Call `World.described`."""

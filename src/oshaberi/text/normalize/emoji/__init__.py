"""Spec 06 S3 and S4: custom emoji, shortcodes and repeats."""

"""Spec 06 S2, S4, S5, S7: labels, render modifiers, mentions, the speaker guard, webhook names."""

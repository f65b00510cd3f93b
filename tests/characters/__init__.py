"""Cards, lorebooks and macros: pure functions over bytes and values."""

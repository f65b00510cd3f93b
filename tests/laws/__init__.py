"""The laws of spec 00 as checks, and text that loves to break them."""

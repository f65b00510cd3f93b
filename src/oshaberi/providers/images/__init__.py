"""Pictures for a model: `fetching` loads one by its URL, `preparation` makes it small."""

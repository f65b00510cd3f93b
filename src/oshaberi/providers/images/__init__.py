"""Pictures for a model.

`image_fetching` loads a picture by its URL, `picture_headers` measures it before it is decoded,
`image_preparation` makes it small, `image_cache` keeps it.
"""

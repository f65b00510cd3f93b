"""Pictures for a model: `image_fetching` loads one by its address, `picture_headers` measures it
before it is decoded, `image_preparation` makes it small, `image_cache` keeps it.
"""

"""The chat in the browser: plain files, served as they are. `Page` serves them."""

from oshaberi.stage.page.page_serving import Page

__all__ = ["Page"]

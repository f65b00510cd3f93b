"""The chat in the browser: plain files, served as they are. `Page` serves them.

`page_serving` has the routes and `PageExtension`, with which a program adds scripts to the page;
`module_joining` joins the modules into one script.
"""

from discord_stage.page.page_serving import Page, PageExtension

__all__ = ["Page", "PageExtension"]

"""How adapters reach the servers of providers: `sdk` gives each SDK its HTTP client.

`model_connections` keeps the connections that all adapters share, `aiohttp_transport` lets an
SDK use them, and `streamed_body` reads a streamed answer.
"""

"""How adapters reach the servers of providers: `sdk` gives each SDK its HTTP client.

`model_connections` keeps the connections that all adapters share, and reads the bodies of streamed
answers; `aiohttp_transport` lets an SDK use them.
"""

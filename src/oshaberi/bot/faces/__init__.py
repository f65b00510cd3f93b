"""The pictures of personas.

- `pictures`: makes a picture from any file. `picture_channel`: where Discord keeps it.
- `kept_pictures`: keeps and renews pictures, and says which address of a persona can be shown now.
- `own_face`: lets the bot itself look like the default persona of a server.
"""

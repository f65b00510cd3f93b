"""Keeps what the operator promised about people's data: `data_retention` deletes what is too old,
and what belongs to servers that the bot has left; `privacy_commands` is `/privacy`.
"""

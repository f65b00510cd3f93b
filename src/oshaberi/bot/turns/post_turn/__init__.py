"""What happens after an answer.

`effects` shows thoughts and stores the turn; `answer_log` logs an answer in one line, and says
why text is missing.
"""

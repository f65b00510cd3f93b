"""After an answer.

`post_turn_effects` shows thoughts, logs them (`thought_log_embeds`) and stores the turn, with its
`interrupted_questions`; `incomplete_answer_log` says in one line of the log why text is
missing.
"""

"""After an answer.

`post_turn_effects` shows thoughts and stores the turn, with its `interrupted_questions`;
`thought_log` posts the thoughts to another channel; `incomplete_answer_log` says in one line of the
log why text is missing.
"""

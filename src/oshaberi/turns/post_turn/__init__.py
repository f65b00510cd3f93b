"""What happens after an answer.

`post_turn_effects` shows thoughts and stores the turn, with its `interrupted_questions`;
`thought_log` posts the thoughts to another channel; `incomplete_answer_log` logs in one line why
text is missing.
"""

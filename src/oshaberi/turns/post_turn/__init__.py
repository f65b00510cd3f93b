"""What happens after an answer.

`post_turn_effects` shows thoughts and stores the turn, with its `interrupted_questions`;
`thought_log` posts the thoughts to another channel; `answer_log` is the one line of the log about
an answer.
"""

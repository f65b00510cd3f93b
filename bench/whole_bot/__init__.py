"""A bench of the whole bot: stage, model server and bot are processes of their own.

`numbered_answers` says what is asked and answered. `token_server` (the model), `probed_bot` (ours)
and `bare_bot` (the comparison) are programs; `child_processes` starts them, `process_probe` and
`statement_counter` measure inside them. `bench_stage` asks and listens, `load_modes` says how much
is asked when, `bot_runs` measures, `bot_figures` and `bot_tables` say what was found.
"""

"""Step 01: what a model is asked, independent of its API.

- `model_request`: one request, its messages, tools and tool results, and where the model is.
- `token_estimate`: how many tokens a request has, for windows and for quotas.
- `preparation`: fits a request to an endpoint: its length, its pictures. `answer_budgets`: how long
  an answer may be.
- `dialogue` and `parameters`: what all families need to build a body. `strict_schemas`: which
  schemas of tools an API can enforce.
"""

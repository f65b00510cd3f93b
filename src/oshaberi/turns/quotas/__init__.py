"""How much may be asked in a day.

`request_quota` counts every request before it is made, with `token_estimate`, and afterwards with
`request_cost`; `quota_notices` says when a quota is used up and when it renews.
"""

"""How many requests and tokens may be used in a day.

`request_quota` counts every request before it is made, with `token_estimate`, and afterwards with
`request_cost`; `quota_notices` tells users when a quota is used up and when it is renewed.
"""

"""Handles a database that does not answer: recognises it, does not wait for it, probes it.

- `driver_errors`: which errors of the drivers mean that the database is away.
- `database_circuit_breaker`: the circuit breaker; no caller waits for a database that does not
  answer.
- `kept_writes`: what is written later, and how much of it is kept.
- `repository_decorators`: the decorators of the repositories' methods.
"""

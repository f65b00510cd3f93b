"""What is done about a database that is away: told apart, waited for briefly, looked for.

- `driver_errors`: which errors of the drivers mean that the database is away.
- `database_circuit_breaker`: the circuit breaker; nobody waits for a database that does not answer.
- `kept_writes`: what is to be written meanwhile, and how much of it is kept.
- `repository_decorators`: the decorators of the repositories' methods.
"""

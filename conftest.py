"""For all tests: those of oshaberi (`tests`) and those of the stage (`stage/tests`)."""

pytest_plugins = ["tests.session_hooks"]

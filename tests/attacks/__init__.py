"""Hostile input of every kind, each with the bound that makes it harmless.

A test here sends what an attacker would, and asserts two things with `loop_watch`: no single step
of the event loop took long, and memory stayed within its bound.
"""

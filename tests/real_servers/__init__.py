"""The adapters against model servers that others wrote: llama.cpp's own, and the LiteLLM proxy."""

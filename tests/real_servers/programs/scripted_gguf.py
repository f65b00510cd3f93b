"""Writes a GGUF model that says scripted sentences: `python scripted_gguf.py OUTPUT`.

There is no attention. Embeddings are one-hot, and the output matrix is the table "after this token
comes that token". The chat template looks for a word in the last message and starts the script of
that name. Runs in the environment of the servers, which has `gguf` and `numpy`.
"""

from __future__ import annotations

import sys

import numpy as np
from gguf import GGUFWriter, TokenType

HEAD_SIZE = 64
FEED_FORWARD = 256
CONTEXT = 65_536
END_OF_TURN = 2
CERTAIN = 40.0
"""The logit of the next token: no temperature chooses another one."""
ENDLESS = "LONG"

SCRIPTS: dict[str, list[str]] = {
    "PLAIN": ["Hello", " there,", " friend.", " It is", " a fine", " day."],
    "EMOJI": ["Smile ", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", " please."],
    "REASON": ["<think>\n", "I wonder", " what", " they mean.", "\n</think>\n\n", "Forty-two."],
    "TOOL": ["<tool_call>", '\n{"name": "roll_dice", "arguments": ', '{"notation": "2d6"}}'],
    "TALK": ["Let me", " roll.", '\n<tool_call>\n{"name": "roll_dice", "arguments": ', '{"n": 1}}'],
    "AFTER": ["The dice", " came", " out", " well."],
    ENDLESS: [f" word{n}" + ("." if n % 9 == 8 else "") for n in range(60)],
}
CALL_ENDS = {"TOOL": "\n</tool_call>", "TALK": "\n</tool_call>\n"}

TEMPLATE = """\
{%- if messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- if tools %}<|im_start|>system
You may call functions. Their signatures are within <tools></tools> tags:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
For each call, return a JSON object with name and arguments within <tool_call></tool_call> tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' %}<|im_start|>user
{{ message.content }}<|im_end|>
{% elif message.role == 'assistant' %}<|im_start|>assistant
{%- if message.reasoning_content %}
<think>
{{ message.reasoning_content }}
</think>
{%- endif %}
{{ message.content or '' }}
{%- for tool_call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ tool_call.function.name }}", "arguments": {{ tool_call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% set last = messages[-1].content | string %}
{%- if messages[-1].role == 'tool' %}<|S_AFTER|>
{%- elif 'REASON' in last %}<|S_REASON|>
{%- elif 'TALK' in last and tools %}<|S_TALK|>
{%- elif 'TOOL' in last and tools %}<|S_TOOL|>
{%- elif 'LONG' in last %}<|S_LONG|>
{%- elif 'EMOJI' in last %}<|S_EMOJI|>
{%- else %}<|S_PLAIN|>{% endif %}{% endif %}"""


class Vocabulary:
    """The tokens, and which one comes after which."""

    def __init__(self) -> None:
        self.texts = ["<unk>", "<s>", "<|im_end|>", "<|im_start|>"]
        self.kinds = [TokenType.UNKNOWN, *[TokenType.CONTROL] * 3]
        self.following: dict[int, int] = {}
        for byte in range(256):
            self._add(f"<0x{byte:02X}>", TokenType.BYTE)
        for name, words in SCRIPTS.items():
            self._add_script(name, [*words, *filter(None, [CALL_ENDS.get(name)])])
        while len(self.texts) % HEAD_SIZE:
            self._add(f"<|pad{len(self.texts)}|>", TokenType.UNUSED)

    def _add_script(self, name: str, words: list[str]) -> None:
        start = last = self._add(f"<|S_{name}|>", TokenType.CONTROL)
        for word in words:
            token = self._add(word, TokenType.USER_DEFINED)
            assert last not in self.following, f"{name}: two scripts share {self.texts[last]!r}"
            self.following[last] = last = token
        self.following[last] = self.following[start] if name == ENDLESS else END_OF_TURN

    def _add(self, text: str, kind: TokenType) -> int:
        if text not in self.texts:
            self.texts.append(text)
            self.kinds.append(kind)
        return self.texts.index(text)


def write_model(path: str) -> None:
    vocabulary = Vocabulary()
    writer = GGUFWriter(path, "llama")
    _write_settings(writer, vocabulary)
    _write_weights(writer, vocabulary)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _write_settings(writer: GGUFWriter, vocabulary: Vocabulary) -> None:
    size = len(vocabulary.texts)
    writer.add_name("scripted")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(size)
    writer.add_block_count(1)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(size // HEAD_SIZE)
    writer.add_head_count_kv(size // HEAD_SIZE)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(HEAD_SIZE)
    writer.add_vocab_size(size)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([text.encode() for text in vocabulary.texts])
    writer.add_token_scores([0.0] * size)
    writer.add_token_types([int(kind) for kind in vocabulary.kinds])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(END_OF_TURN)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)


def _write_weights(writer: GGUFWriter, vocabulary: Vocabulary) -> None:
    size = len(vocabulary.texts)
    output = np.zeros((size, size), dtype=np.float32)
    for token in range(size):
        output[vocabulary.following.get(token, END_OF_TURN), token] = CERTAIN
    writer.add_tensor("token_embd.weight", np.eye(size, dtype=np.float32))
    writer.add_tensor("output_norm.weight", np.ones(size, np.float32))
    writer.add_tensor("output.weight", output)
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(size, np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros((size, size), np.float32))
    for name in ("ffn_gate", "ffn_up"):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros((FEED_FORWARD, size), np.float32))
    writer.add_tensor("blk.0.ffn_down.weight", np.zeros((size, FEED_FORWARD), np.float32))


if __name__ == "__main__":
    write_model(sys.argv[1])

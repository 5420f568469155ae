"""Model folders as other programs save them, with drawn weights: the same bytes on every machine."""
import json
import struct

from .texts import byte_level_tokenizer, draws

WIDTH, HEADS, LAYERS, POSITIONS = 32, 4, 2, 64
VOCABULARY = 265

# Names before the block's number and in it, and whether there are biases.
NAMES = {
    "mpt": {"embedding": "transformer.wte", "block": "transformer.blocks", "norm": "transformer.norm_f",
            "parts": ("norm_1", "attn.Wqkv", "attn.out_proj", "norm_2", "ffn.up_proj", "ffn.down_proj")},
    "bloom": {"embedding": "transformer.word_embeddings", "block": "transformer.h", "norm": "transformer.ln_f",
              "parts": ("input_layernorm", "self_attention.query_key_value", "self_attention.dense",
                        "post_attention_layernorm", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h")},
    "gpt2": {"embedding": "transformer.wte", "block": "transformer.h", "norm": "transformer.ln_f",
             "parts": ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")},
}
PART_SHAPES = ((WIDTH,), (3 * WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH,), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH))
CONFIGS = {
    "mpt": {"d_model": WIDTH, "n_heads": HEADS, "n_layers": LAYERS, "max_seq_len": POSITIONS, "no_bias": True,
            "expansion_ratio": 4, "attn_config": {"alibi": True, "alibi_bias_max": 8}},
    "bloom": {"hidden_size": WIDTH, "n_head": HEADS, "n_layer": LAYERS, "seq_length": POSITIONS},
    "gpt2": {"n_embd": WIDTH, "n_head": HEADS, "n_layer": LAYERS, "n_positions": POSITIONS},
}


def shapes(dialect):
    """Name -> shape of each tensor."""
    names = NAMES[dialect]
    biases = dialect != "mpt"
    found = {f"{names['embedding']}.weight": (VOCABULARY, WIDTH)}
    layers = [(f"{names['block']}.{i}.{part}", shape) for i in range(LAYERS) for part, shape in zip(names["parts"], PART_SHAPES)]
    layers.append((names["norm"], (WIDTH,)))
    if dialect == "bloom":
        layers.append(("transformer.word_embeddings_layernorm", (WIDTH,)))
    if dialect == "gpt2":
        found["transformer.wpe.weight"] = (POSITIONS, WIDTH)
    for name, shape in layers:
        transposed = dialect == "gpt2" and len(shape) == 2
        found[f"{name}.weight"] = shape[::-1] if transposed else shape
        if biases:
            found[f"{name}.bias"] = shape[:1]
    return found


def drawn(dialect, kind):
    """Name -> (shape, bytes), multiples of 0.0001 around 0, in norms around 1."""
    draw = draws(11)
    found = {}
    for name, shape in sorted(shapes(dialect).items()):
        centre = 1.0 if "norm" in name.rsplit(".", 2)[-2] or ".ln_" in name else 0.0
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        numbers = [centre + (draw(4001) - 2000) / 10_000 for _ in range(count)]
        found[name] = (shape, packed(numbers, kind))
    return found


def packed(numbers, kind):
    if kind == "BF16":  # the upper half of each number
        whole = struct.pack(f"<{len(numbers)}f", *numbers)
        return b"".join(whole[i + 2:i + 4] for i in range(0, len(whole), 4))
    return struct.pack(f"<{len(numbers)}{'e' if kind == 'F16' else 'f'}", *numbers)


def write_safetensors(path, found, kind):
    head, content = {}, b""
    for name, (shape, part) in found.items():
        head[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(content), len(content) + len(part)]}
        content += part
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)


def write_foreign(folder, dialect, kind="F32"):
    """A folder of transformers: config.json, model.safetensors, tokenizer.json."""
    folder.mkdir()
    config = {"model_type": dialect, "vocab_size": VOCABULARY, "eos_token_id": VOCABULARY - 1, **CONFIGS[dialect]}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(byte_level_tokenizer()))
    write_safetensors(folder / "model.safetensors", drawn(dialect, kind), kind)

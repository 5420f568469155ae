"""Texts, token files and tokenizers to train on, the same bytes on every machine."""
import gzip
import json
import random
import struct

SYLLABLES = ("ka", "lo", "mi", "ter", "an", "es", "qu", "th", "ing", "or")


def draws(seed):
    """Whole numbers below a bound, by the one generator function whose values Python promises to keep."""
    source = random.Random(seed)
    return lambda bound: int(source.random() * bound)


def sentences(count, seed):
    """Lines of made-up words; small ranks are the usual ones, and some bytes are not ASCII."""
    draw = draws(seed)
    lines = []
    for _ in range(count):
        words = []
        for _ in range(4 + draw(9)):
            rank = draw(1 + draw(300))
            words.append(SYLLABLES[rank % 10] + SYLLABLES[rank // 10 % 10] + ("é" if rank % 37 == 36 else ""))
        lines.append(" ".join(words) + ("." if draw(5) else ": 42"))
    return lines


def json_lines(objects):
    return "".join(json.dumps(each) + "\n" for each in objects)


def documents(count, seed):
    draw = draws(seed + 1000)
    return [{"text": "\n".join(sentences(1 + draw(4), seed + i))} for i in range(count)]


def conversations(count, seed):
    return [{"prompt": question + "\n", "completion": answer}
            for question, answer in zip(sentences(count, seed), sentences(count, seed + 1))]


def byte_characters():
    """How byte-level tokenizers spell the 256 bytes: printable ones as they are, others from U+0100 on."""
    plain = [b for b in range(256) if 33 <= b <= 126 or b >= 161 and b != 173]
    others = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(others)) for b in range(256)]


def byte_level_tokenizer():
    """A tokenizer.json of all bytes, a few merges and an end token: 265 ids."""
    spelled = byte_characters()
    merges = [("t", "h"), ("a", "n"), ("e", "s"), ("o", "r"), (spelled[32], "th"), ("an", "an"), ("i", "n"), ("in", "g")]
    vocabulary = {character: i for i, character in enumerate(spelled)}
    vocabulary.update({left + right: 256 + i for i, (left, right) in enumerate(merges)})
    end = {"id": len(vocabulary), "content": "<|endoftext|>", "special": True}
    return {"added_tokens": [end], "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
            "model": {"type": "BPE", "vocab": vocabulary, "merges": [" ".join(pair) for pair in merges]}}


def token_ids(count, seed):
    """Ids of that tokenizer, a document's end every 50 or so."""
    draw = draws(seed)
    return struct.pack(f"<{count}H", *(264 if draw(50) == 0 else draw(264) for _ in range(count)))


def write_texts(folder):
    """Fills `folder` with every text that a case may name."""
    text, held = "\n".join(sentences(1000, 1)), "\n".join(sentences(120, 2))
    contents = {"text.txt": text, "held.txt": held, "documents.jsonl": json_lines(documents(300, 3)),
                "held.jsonl": json_lines(documents(60, 400)), "chat.jsonl": json_lines(conversations(400, 5)),
                "held-chat.jsonl": json_lines(conversations(60, 7)),
                "tokenizer.json": json.dumps(byte_level_tokenizer())}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "packed.txt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (folder / "train.bin").write_bytes(token_ids(20_000, 8))
    (folder / "valid.bin").write_bytes(token_ids(2_000, 9))

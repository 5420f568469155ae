"""Makes folders of transformers with drawn weights and a byte-level tokenizer, and what is expected of them.

usage: imports.py make gpt2|mpt|bloom FOLDER EXPECTED     a model of two layers; EXPECTED (safetensors) gets tokens and
                                                          logits at one and four times the length, EXPECTED.json the
                                                          ids and decoded texts of hard strings by tokenizers
       imports.py again FOLDER EXPECTED                   holds an export of the import against EXPECTED
       imports.py apart FOLDER                            vocab.json and merges.txt in place of tokenizer.json
       imports.py tokens FOLDER EXPECTED                  the ids of FOLDER's tokenizer.json against EXPECTED.json
       imports.py llama GGUF EXPECTED                     tokens and the last position's log-probabilities in llama.cpp
"""
import json
import os
import sys
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from exports import LlamaCpp, check_hf, faults, hard_strings  # noqa: E402  (sets the offline switches)

LENGTH = 64
ROWS_BEYOND = 13  # MPT and BLOOM pad their embeddings
BLOOM_PATTERN = " ?[^(\\s|[.,!?…。，、।۔،])]+"


def train_tokenizer(kind):
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    specials = ["<unk>", "<s>", "</s>", "<pad>"] if kind == "bloom" else ["<|endoftext|>"]
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=kind != "bloom")
    if kind == "bloom":
        split = pre_tokenizers.Split(Regex(BLOOM_PATTERN), behavior="isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    else:
        tokenizer.pre_tokenizer = byte_level
    if kind == "mpt":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=specials, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    folder = os.path.dirname(os.path.abspath(__file__))
    texts = [open(os.path.join(folder, name), encoding="utf-8").read() for name in ("exports.py", "imports.py")]
    texts += hard_strings()[:400]
    # Without the special tokens' names: merges that spell one would make it of plain text, which an import leaves out.
    for special in specials:
        texts = [text.replace(special, "") for text in texts]
    tokenizer.train_from_iterator(texts, trainer)
    if kind == "mpt":  # GPT-NeoX's runs of spaces
        tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(8, 1, -1)])
    return tokenizer


def make_model(kind, rows, end):
    import torch
    from transformers import BloomConfig, BloomForCausalLM, GPT2Config, GPT2LMHeadModel, MptConfig, MptForCausalLM
    torch.manual_seed(5)
    if kind == "gpt2":
        config = GPT2Config(vocab_size=rows, n_positions=4 * LENGTH, n_embd=48, n_layer=2, n_head=3, bos_token_id=end,
                            eos_token_id=end, initializer_range=0.2)
        return GPT2LMHeadModel(config)
    if kind == "mpt":
        config = MptConfig(vocab_size=rows, d_model=48, n_heads=6, n_layers=2, max_seq_len=4 * LENGTH, bos_token_id=end,
                           eos_token_id=end, initializer_range=0.2, learned_pos_emb=False)
        return MptForCausalLM(config)
    config = BloomConfig(vocab_size=rows, hidden_size=48, n_head=3, n_layer=2, bos_token_id=1, eos_token_id=end,
                         initializer_range=0.2)
    return BloomForCausalLM(config)


def logits_of(model, rows):
    import torch
    expected = {}
    with torch.no_grad():
        for times in (1, 4):
            tokens = torch.randint(0, rows, (1, times * LENGTH), generator=torch.Generator().manual_seed(times))
            expected[f"tokens_{times}"] = tokens
            expected[f"logits_{times}"] = model(tokens).logits.contiguous()
    return expected


def make(kind, folder, expected_path):
    import torch
    from safetensors.torch import save_file
    torch.set_num_threads(1)
    tokenizer = train_tokenizer(kind)
    rows = tokenizer.get_vocab_size() + (0 if kind == "gpt2" else ROWS_BEYOND)
    model = make_model(kind, rows, tokenizer.token_to_id("</s>" if kind == "bloom" else "<|endoftext|>"))
    model.eval()
    with torch.no_grad():  # biases and norms start as 0 and 1, which would hide an exchange
        generator = torch.Generator().manual_seed(3)
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
    model.save_pretrained(folder)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    save_file(logits_of(model, rows), expected_path)
    tokenizer.encode_special_tokens = True  # what spells a special token is text
    rows = []
    for text in hard_strings():
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        rows.append({"text": text, "ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False)})
    with open(expected_path + ".json", "w", encoding="utf-8") as file:
        json.dump({"strings": rows}, file)
    print(f"{kind}: {len(rows)} strings, vocabulary {tokenizer.get_vocab_size()}")


def check_again(folder, expected_path):
    check_hf(folder, expected_path)
    check_tokens(folder, expected_path)


def take_apart(folder):
    path = os.path.join(folder, "tokenizer.json")
    with open(path, encoding="utf-8") as file:
        model = json.load(file)["model"]
    with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as file:
        json.dump(model["vocab"], file)
    with open(os.path.join(folder, "merges.txt"), "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n" + "".join(" ".join(merge) + "\n" for merge in model["merges"]))
    os.remove(path)


def check_tokens(folder, expected_path):
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    with open(expected_path + ".json", encoding="utf-8") as file:
        for row in json.load(file)["strings"]:
            found = tokenizer(row["text"], add_special_tokens=False, split_special_tokens=True)["input_ids"]
            if found != row["ids"]:
                faults.append(f"{row['text']!r}: {found}, expected {row['ids']}")


def check_llama(file, expected_path):
    import torch
    from safetensors.torch import load_file
    expected = load_file(expected_path)
    tokens, logits = expected["tokens_1"][0], expected["logits_1"][0]
    llama = LlamaCpp(file, 4 * LENGTH)
    with open(expected_path + ".json", encoding="utf-8") as texts:
        rows = json.load(texts)["strings"]
    composed = [row for row in rows if unicodedata.is_normalized("NFC", row["text"])]
    for row in composed:
        found = llama.tokenize(row["text"])
        if found != row["ids"]:
            faults.append(f"{row['text']!r}: {found}, expected {row['ids']}")
    print(f"{len(composed)} of {len(rows)} hard strings are composed and asked")
    # Its GELU goes through a table of fp16: not the same to the last digits.
    worst = 0.0
    count = 0
    for length in range(1, LENGTH + 1, 7):
        ours = torch.log_softmax(logits[length - 1].double(), 0)
        found = llama.log_probabilities(tokens[:length].tolist(), len(ours))
        if found is None:
            continue
        count += 1
        worst = max(worst, max(abs(found[id] - ours[id].item()) for id in ours.topk(20).indices.tolist()))
    if count < 4:
        faults.append(f"only {count} positions were answered")
    print(f"log-probabilities differ by at most {worst:.2g}")
    if worst > 0.02:
        faults.append(f"log-probabilities differ by {worst}, expected at most 0.02")


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "make":
        make(*sys.argv[2:5])
    elif len(sys.argv) == 4 and sys.argv[1] == "again":
        check_again(*sys.argv[2:4])
    elif len(sys.argv) == 3 and sys.argv[1] == "apart":
        take_apart(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == "tokens":
        check_tokens(*sys.argv[2:4])
    elif len(sys.argv) == 4 and sys.argv[1] == "llama":
        check_llama(*sys.argv[2:4])
    else:
        print(__doc__)
        return 2
    for fault in faults[:20]:
        print("fault:", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

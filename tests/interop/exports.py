"""Holds exports against the programs they are for: transformers, tokenizers, sentencepiece and llama.cpp.

usage: exports.py hf FOLDER EXPECTED       logits of EXPECTED (safetensors: tokens, logits) with AutoModelForCausalLM and
                                           pipeline, without custom code; generation with a cache and with left padding
       exports.py own FOLDER EXPECTED      the same with the modelling file of the folder
       exports.py tokens FOLDER [GGUF]     ids of hard strings by sentencepiece, tokenizer.json and llama.cpp
       exports.py gguf GGUF EXPECTED       mean loss of the targets in EXPECTED by llama.cpp, one request a target

       exports.py save FOLDER COPY                model and tokenizer through transformers into another folder
       exports.py lm-eval FOLDER LENGTH BITS    bits a byte of held-out.jsonl by lm-eval, in windows of LENGTH

One line for each difference, exit 1; 77 where Python is too old for it.
"""
import json
import math
import os
import random
import sys
import urllib.request

os.environ.update(HF_MODULES_CACHE=os.path.abspath("modules"), HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error",
                  TOKENIZERS_PARALLELISM="false")
faults = []
LEFT_OUT = 77  # exit code


def expect(holds, text):
    if not holds:
        faults.append(text)


def hard_strings():
    """A thousand strings: blanks, line ends, control text, other scripts, emoji, anything at all."""
    draw = random.Random(7)
    parts = [" ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "<s>", "</s>", "<unk>", "<0x41>", "a", "def f(x):", "return", "Zürich",
             "naïve", "日本語", "한국어", "العربية", "🙂", "👩‍👩‍👧", "ﬁ", "Ａ", "\u00a0", "\u200b", "\u2028", "e\u0301", "0", "1234567890",
             ",", ";", "()", "==", "->", "'", '"', "\\", "\x01", "\x7f", "x" * 40, "ab" * 15]
    strings = ["", " ", "\n", "a", " a", "a ", "  a  ", "\na", "a\n", "a\n b\n\n  c"]
    while len(strings) < 800:
        strings.append("".join(draw.choice(parts) for _ in range(draw.randint(1, 12))))
    while len(strings) < 1100:  # any characters but surrogates and U+2581, which reads as a space
        points = [draw.choice([draw.randint(1, 0x7f), draw.randint(0x80, 0xd7ff), draw.randint(0xe000, 0x1ffff)])
                  for _ in range(draw.randint(1, 20))]
        strings.append("".join(chr(p) for p in points if p != 0x2581))
    return strings


def load_expected(path):
    from safetensors.torch import load_file
    return load_file(path)


def check_hf(folder, expected_path, own_code=False):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline
    torch.set_num_threads(1)
    expected = load_expected(expected_path)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, trust_remote_code=own_code)
    model.eval()
    expect(type(model).__module__.startswith("transformers_modules." if own_code else "transformers.models."),
           f"loaded as {type(model)}, expected a class of {'the folder' if own_code else 'transformers'}'s")
    if own_code:
        expect(not model.accepts_loss_kwargs, "a Trainer would not divide the loss by the batches that it accumulates")
    with torch.no_grad():
        for name in sorted(key for key in expected if key.startswith("tokens")):
            tokens, logits = expected[name], expected[name.replace("tokens", "logits")]
            found = model(tokens).logits
            worst = (found - logits).abs().max().item()
            print(f"{name}: {tokens.shape[1]} tokens, logits differ by at most {worst:.2g}")
            expect(worst <= 1e-4, f"{name}: logits differ by {worst}, expected at most 1e-4")
        for name in ("tokens_1", "tokens_4"):
            check_generation(model, expected[name][:, :-8])  # as long as the model says it is, then
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=own_code)
    generate = pipeline("text-generation", model=folder, tokenizer=folder, trust_remote_code=own_code)
    text = generate("the ", max_new_tokens=5, do_sample=False)[0]["generated_text"]
    expect(text.startswith("the "), f"pipeline wrote {text!r}")
    expect(tokenizer.decode(tokenizer("a  b\nc")["input_ids"]) == "a  b\nc", "decoding does not give the text back")


def check_generation(model, tokens):
    """The cache's tokens are those of whole passes; padding on the left changes nothing."""
    import torch
    cached = model.generate(tokens, max_new_tokens=8, do_sample=False, eos_token_id=None)
    whole = tokens
    for _ in range(8):
        whole = torch.cat([whole, model(whole).logits[:, -1].argmax(-1, keepdim=True)], 1)
    expect(torch.equal(cached, whole), "generation with a cache differs from whole passes")
    padding = torch.full((1, 5), 2)
    mask = torch.cat([torch.zeros(1, 5), torch.ones_like(tokens)], 1).long()
    padded = model(torch.cat([padding, tokens], 1), attention_mask=mask).logits[:, 5:]
    worst = (padded - model(tokens).logits).abs().max().item()
    expect(worst <= 1e-4, f"left padding changes logits by {worst}")


class LlamaCpp:
    def __init__(self, file, context):
        import xllamacpp
        params = xllamacpp.CommonParams()
        params.model.path = file
        params.n_ctx = context
        params.n_parallel = 1
        params.warmup = False
        params.verbosity = 0
        params.cpuparams.n_threads = 1
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        self.server = xllamacpp.Server(params)

    def tokenize(self, text):
        request = urllib.request.Request(self.server.listening_address + "/tokenize",
                                         json.dumps({"content": text, "add_special": False, "parse_special": False}).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["tokens"]

    def log_probabilities(self, ids, vocabulary):
        """Of every next token; None where the likeliest ends the text or is half a character: it answers nothing then."""
        answer = self.server.handle_completions({"prompt": ids, "n_predict": 1, "n_probs": vocabulary, "temperature": 0.0,
                                                 "cache_prompt": True, "post_sampling_probs": False})
        if isinstance(answer, str):
            answer = json.loads(answer)
        choice = answer["choices"][0] if "choices" in answer else answer
        rows = (choice.get("logprobs") or {}).get("content") or choice.get("completion_probabilities")
        return {entry["id"]: entry["logprob"] for entry in rows[0]["top_logprobs"]} if rows else None


def check_tokens(folder, gguf):
    import sentencepiece
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer
    theirs = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "tokenizer.model"))
    plain = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    plain.encode_special_tokens = True  # what a text says is text
    wrapped = AutoTokenizer.from_pretrained(folder)
    llama = LlamaCpp(gguf, 64) if gguf else None
    strings = hard_strings()
    for text in strings:
        ids = theirs.encode(text)
        for name, found in [("tokenizers", plain.encode(text, add_special_tokens=False).ids),
                            ("transformers", wrapped(text, add_special_tokens=False)["input_ids"])] + (
                                [("llama.cpp", llama.tokenize(text))] if llama else []):
            expect(found == ids, f"{name}: {text!r}: {found}, sentencepiece {ids}")
        expect(wrapped.decode(ids) == theirs.decode(ids), f"transformers decodes {text!r} to {wrapped.decode(ids)!r}")
    print(f"{len(strings)} hard strings")


def check_gguf(file, expected_path):
    expected = load_expected(expected_path)
    tokens, losses = expected["targets"].tolist(), expected["losses"].tolist()
    from gguf import GGUFReader
    reader = GGUFReader(file)
    expect(len(reader.tensors) > 0, "gguf-py reads no tensor")
    vocabulary = int(expected["vocabulary"])
    llama = LlamaCpp(file, len(tokens[0]) + 8)
    ours, found = 0.0, 0.0
    count = 0
    for row, row_losses in zip(tokens, losses):
        for at in range(1, len(row)):
            answer = llama.log_probabilities(row[:at], vocabulary)
            if answer is None:
                continue
            found -= answer[row[at]]
            ours += row_losses[at - 1]
            count += 1
    print(f"{os.path.basename(file)}: mean loss of {count} targets {found / count:.5f}, ours {ours / count:.5f}")
    return found / count, ours / count, count


def save(folder, copy):
    from transformers import AutoModelForCausalLM, AutoTokenizer
    AutoModelForCausalLM.from_pretrained(folder).save_pretrained(copy)
    AutoTokenizer.from_pretrained(folder).save_pretrained(copy)
    expect(not os.path.exists(os.path.join(copy, "tokenizer.model")), "transformers keeps tokenizer.model by now")


def check_lm_eval(folder, length, bits):
    import glob
    import subprocess
    tasks = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "configs", "lm-eval")
    lm_eval = os.path.join(os.path.dirname(sys.executable), "lm-eval")
    if not os.path.exists(lm_eval):
        expect(sys.version_info < (3, 11), f"{lm_eval} is missing: scripts/setup --verify installs it")
        print("lm-eval needs Python 3.11: left out")
        sys.exit(LEFT_OUT)
    subprocess.run([lm_eval, "run", "--model", "hf", "--model_args", f"pretrained={folder},dtype=float32,max_length={length}",
                    "--tasks", "held_out", "--include_path", tasks, "--device", "cpu", "--output_path", "lm-eval"],
                   check=True, env={**os.environ, "HF_HOME": os.path.abspath("hf-home"), "HF_DATASETS_OFFLINE": "1"})
    with open(glob.glob("lm-eval/**/results_*.json", recursive=True)[0], encoding="utf-8") as file:
        found = json.load(file)["results"]["held_out"]["bits_per_byte,none"]
    print(f"bits a byte: lm-eval {found:.5f}, ours {float(bits):.5f}")
    expect(abs(found / float(bits) - 1) <= 0.001, f"lm-eval finds {found} bits a byte, expected {bits} within 0.1 %")


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("hf", "own", "tokens", "gguf", "save", "lm-eval"):
        print(__doc__)
        return 2
    if sys.argv[1] in ("hf", "own"):
        check_hf(*sys.argv[2:4], own_code=sys.argv[1] == "own")
    elif sys.argv[1] == "save":
        save(*sys.argv[2:4])
    elif sys.argv[1] == "lm-eval":
        check_lm_eval(*sys.argv[2:5])
    elif sys.argv[1] == "tokens":
        check_tokens(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
    else:
        found, ours, count = check_gguf(*sys.argv[2:4])
        most = float(sys.argv[4]) if len(sys.argv) > 4 else 0.005
        expect(count >= 2000, f"only {count} targets")
        expect(math.isfinite(found) and abs(found / ours - 1) <= most, f"mean loss {found}, ours {ours}")
    for fault in faults[:20]:
        print("fault:", fault)
    if len(faults) > 20:
        print(f"and {len(faults) - 20} more")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""What a user does first with the installed wheel: trains 20 steps, measures, exports. Run by scripts/package check in an empty folder."""
import ctypes
import pathlib
import subprocess
import sys

import torch

import alibi_lm

TEXT = "The quick brown fox jumps over the lazy dog, and the dog looks on.\n"
CONFIG = {
    "model": {"layers": 1, "width": 32, "heads": 2},
    "batch": {"sequence_length": 64, "sequences": 4, "train_sequence_length_scaling": 0.5},
    "data": {"train": ["text.txt"], "valid_fraction": 0.2},
    "tokenizer": {"kind": "bytes"},
    "run": {"name": "tried", "train_tokens": 20 * 256},
    "evaluate": {"max_tokens": 8000},
}


def main():
    pathlib.Path("text.txt").write_text(TEXT * 1000, encoding="utf-8")
    run = alibi_lm.train(CONFIG)
    assert run == pathlib.Path("runs/tried"), run
    curve = alibi_lm.evaluate(run, lengths=["1x", "4x"])
    points = curve["curves"][0]["points"]
    assert [point["length"] for point in points] == [32, 128], points
    assert all(1 < point["perplexity"] < 259 for point in points), points
    assert curve["curves"][0]["step"] == 20, curve["curves"][0]["step"]
    alibi_lm.run("export", run, "--to", "hf", "--output", "exported")
    assert pathlib.Path("exported/model.safetensors").exists()
    try:
        alibi_lm.train({"modle": {}})
    except alibi_lm.AlibiError as error:
        assert error.code == 2 and "modle" in str(error), error
    else:
        raise AssertionError("a wrong key was accepted")
    version = [subprocess.run(command + ["--version"], capture_output=True, text=True, check=True).stdout
               for command in ([sys.executable, "-m", "alibi_lm"], [str(pathlib.Path(sys.executable).parent / "alibi")])]
    assert version[0] == version[1] and alibi_lm.__version__ in version[0], version
    libraries = subprocess.run(["ldd", alibi_lm.program()], capture_output=True, text=True, check=True).stdout
    assert sum("libgomp" in line for line in libraries.splitlines()) == 1 and "not found" not in libraries, libraries
    # Needs no device: LibTorch's CUDA runtime, which torch has loaded, and the table of kernels.
    kernels = ctypes.CDLL(str(pathlib.Path(alibi_lm.program()).parent / "libalibi_cuda.so"))
    kernels.alibi_row_module.restype = ctypes.POINTER(ctypes.c_int)
    assert torch.version.cuda.startswith("13.") and kernels.alibi_row_module()[0] > 0, torch.version.cuda  # its first number is its version
    print(f"Python {sys.version.split()[0]}: perplexity {points[0]['perplexity']:.1f} at 32, {points[1]['perplexity']:.1f} at 128")


if __name__ == "__main__":
    main()

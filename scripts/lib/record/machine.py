"""The kind of machine that bits of weights depend on."""
import pathlib
import platform
import re

from processor import fields, flags

FLAGS = ("avx2", "fma", "avx512f", "avx512vl", "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16")


def can_run(job):
    return not job.needs or job.needs in flags()


def compilers(binary):
    """The compilers that a binary names; another one may contract or order sums otherwise."""
    found = re.findall(rb"(GCC: \([^)]*\) \d+|clang version \d+)", pathlib.Path(binary).read_bytes())
    return sorted({re.sub(r"\([^)]*\) ", "", text.decode("ascii", "replace")) for text in found})


def kind(program):
    """What has to be the same for weights to be the same bits."""
    about = fields()
    version = program.works("/", "--version").out.decode()
    return {"vendor": about.get("vendor_id", ""), "family": about.get("cpu family", ""), "model": about.get("model", ""),
            "flags": [flag for flag in FLAGS if flag in flags()],
            "libc": " ".join(platform.libc_ver()), "compilers": compilers(program.binary),
            "libtorch": "".join(re.findall(r"LibTorch [^)]*", version))}

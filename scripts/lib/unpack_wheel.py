"""Unpacks a wheel into a folder: unpack_wheel.py WHEEL FOLDER PART

PART: "py" only .py files; "cpu" all but Python's and CUDA's shared libraries and the bundled programs;
"cuda" all but Python's library and the bundled programs. Of wheels other than torch's all three but "py" are the same: all but
stubs and static libraries.
Each file is written aside and renamed, keeps the date it has in the wheel (so nothing is rebuilt after unpacking
again), and is left alone where it is there already with that size and date.
"""
import os
import sys
import time
import zipfile

PYTHON_ONLY = ("libtorch_python.so",)
CUDA_ONLY = ("libtorch_cuda.so", "libtorch_cuda_linalg.so", "libtorch_nvshmem.so", "libc10_cuda.so",
             "libcaffe2_nvrtc.so", "libtorch.so", "libtorch_global_deps.so")


def wanted(name, part):
    base = os.path.basename(name)
    if part == "py":
        return name.endswith(".py")
    if name.startswith("torch/bin/") or name.endswith((".pyi", ".a")) or base in PYTHON_ONLY:
        return False
    return part == "cuda" or base not in CUDA_ONLY


def unpack(archive, info, folder):
    path = os.path.join(folder, info.filename)
    date = time.mktime(info.date_time + (0, 0, -1))
    if os.path.exists(path):
        found = os.stat(path)
        if found.st_size == info.file_size and found.st_mtime == date:
            return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    aside = path + ".part"
    with archive.open(info) as source, open(aside, "wb") as target:
        while block := source.read(1 << 20):
            target.write(block)
    os.chmod(aside, 0o755 if (info.external_attr >> 16) & 0o100 else 0o644)
    os.utime(aside, (date, date))
    os.replace(aside, path)


def main():
    wheel, folder, part = sys.argv[1:]
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            if not info.is_dir() and wanted(info.filename, part):
                unpack(archive, info, folder)


try:
    main()
except (OSError, zipfile.BadZipFile) as error:
    sys.exit(f"error: {error}")

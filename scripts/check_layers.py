"""Checks what each folder of src/ includes: only the folders that its CMakeLists.txt names, only the libraries that belong
there, and no #if; x86 only in its own files, Linux only in base.

usage: python3 scripts/check_layers.py [FOLDER]     FOLDER: src (default)

One line for each fault, exit 1.
"""
import os
import re
import sys

LIBRARY = re.compile(r"alibi_library\(\s*(\w+)([^)]*)\)")
DEPENDS = re.compile(r"\bDEPENDS\s+([a-z0-9_\s]+)")
LIBTORCH = "device"  # who sees this folder sees LibTorch
# Folders that are no alibi_library: compiled into modules of their own.
MODULES = {"kernels/cuda": {"kernels", "device"}, "kernels/cudnn": {"kernels", "device"}, "distributed/nccl": {"distributed"}}

# Library headers (a pattern of the include) and the files that may name them (patterns of the path below src/).
LIBRARIES = [
    ("sentencepiece", r"sentencepiece", [r"text/.*\.cc"]),
    ("PCRE2", r"pcre2", [r"text/patterns\.cc"]),
    ("libarchive and zlib", r"(archive(_entry)?|zlib)\.h", [r"text/packed_text\.cc"]),
    ("simdjson", r"simdjson", [r"text/json_line\.cc"]),
    ("utf8proc", r"utf8proc", [r"text/byte_level\.cc"]),
    ("CLI11", r"CLI/", [r"commands/command_line\.cc"]),
    ("nlohmann/json", r"nlohmann/", [r"base/json/.*\.cc", r"text/json_line\.cc"]),
    ("spdlog", r"(spdlog|fmt)/", [r"base/log\.cc"]),
    ("LibTorch's umbrella", r"torch/(torch|all)\.h", [r"nothing: device/libtorch.h has what is needed"]),
    ("cuDNN", r"cudnn(_[a-z_]+)?\.h", [r"kernels/cudnn/.*"]),
]
TORCH = re.compile(r"(torch|ATen|c10|caffe2)/")
CUDA = re.compile(r"(cuda|cu[a-z]+|nccl|nvtx3/.*)(_[a-z0-9_]+)?\.h")
CONTAINERS = {"vector", "map", "unordered_map", "set", "unordered_set", "deque", "list", "string", "queue", "stack"}

# Files that a wall lets through, with the reason.
WALL_EXCEPTIONS = {
    "distributed/nccl/module.cc": "makes c10d's own group of NCCL",
    "kernels/tile_gemm.cc": "wraps LibTorch's just-in-time tile GEMM behind raw pointers",
}
# Files that may use #if, with the reason.
CONDITIONAL_EXCEPTIONS = {
    "kernels/cuda/kernel_block.h": "kernels have one source: what marks a device's function is a word of one compiler only",
}

# Words of one processor or one system, outside comments, and the files that may use them (patterns of the path below src/). base
# is where Linux is asked, so that another system is a matter of its files.
WORDS = [
    ("x86", r"<([a-z0-9]*mmintrin|immintrin|x86intrin|x86gprintrin|cpuid)\.h>|\b_mm\d*_\w+|\b__m(128|256|512)\w*|\b__builtin_(cpu_\w+|ia32_\w+)"
     r"|\b__(cpuid|rdtsc)\w*|\[\[gnu::target|__attribute__\s*\(\(\s*target|\basm\b",
     [r"kernels/avx512\.h", r"kernels/\w+_(avx2|avx512|x86)\.cc", r"kernels/cuda/.*"]),
    ("Linux", r"<(linux/[^>]*|sys/(auxv|epoll|eventfd|fanotify|inotify|personality|prctl|sendfile|signalfd|statfs|syscall|sysinfo"
     r"|timerfd|vfs)\.h|malloc\.h|sched\.h|link\.h)>|\"/?(proc|sys)/|\b(prctl|mallopt|malloc_trim|mallinfo2?|mremap|renameat2|getauxval"
     r"|syscall|gettid|memfd_create|sched_[gs]etaffinity|pthread_[gs]etaffinity_np|get_nprocs(_conf)?|fallocate|posix_fallocate|fdatasync"
     r"|sync_file_range|copy_file_range|splice|pipe2|accept4|dup3|execvpe|qsort_r|dl_iterate_phdr|epoll_\w+|inotify_\w+|eventfd|signalfd"
     r"|timerfd_\w+|secure_getenv|program_invocation_(short_)?name)\s*\("
     r"|\b(O_DIRECT|O_TMPFILE|O_PATH|SOCK_CLOEXEC|SOCK_NONBLOCK|MREMAP_\w+|MADV_HUGEPAGE|MAP_POPULATE|MAP_HUGETLB|__rlimit_resource|preinit_array)\b",
     [r"base/.*"]),
]
COMMENT = re.compile(r"(^|\s)//.*")

INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')
CONDITIONAL = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif)\b")


def folder_of(path):
    module = next((module for module in MODULES if path.startswith(module + "/")), None)
    return module or (path.split("/")[0] if "/" in path else "main")


def read_dependencies(root):
    """Folder -> the folders it may include, from the DEPENDS of each CMakeLists.txt. main.cc may include any."""
    found = dict(MODULES)
    for folder in sorted(os.listdir(root)):
        lists = os.path.join(root, folder, "CMakeLists.txt")
        if os.path.exists(lists):
            with open(lists, encoding="utf-8") as file:
                for name, arguments in LIBRARY.findall(file.read()):
                    depends = DEPENDS.search(arguments)
                    found[name] = set(depends.group(1).split()) if depends else set()
    return {**found, "main": set(found)}


def sees_libtorch(folder, dependencies):
    return folder == LIBTORCH or any(sees_libtorch(lower, dependencies) for lower in dependencies.get(folder, ()))


def layer_fault(path, included, dependencies):
    """Why the file may not include this project header, or None."""
    here, there = folder_of(path), folder_of(included)
    if there == here or there in dependencies[here]:
        return None
    return f"src/{here}/CMakeLists.txt does not name {there} in DEPENDS (any folder above it in src/CMakeLists.txt may be)"


def library_fault(path, included, dependencies):
    """Why the file may not include this library header, or None."""
    here = folder_of(path)
    for name, pattern, places in LIBRARIES:
        if re.match(pattern, included) and not any(re.fullmatch(place, path) for place in places):
            return f"{name} belongs only in {' '.join(places)}"
    if path in WALL_EXCEPTIONS:
        return None
    if TORCH.match(included) and (here in MODULES or not sees_libtorch(here, dependencies)):
        return f"{here}/ sees no LibTorch"
    if here not in MODULES and CUDA.fullmatch(included):
        return "CUDA headers belong only in kernels/cuda and kernels/cudnn"
    if here == "kernels" and included in CONTAINERS:
        return "kernels/ uses no STL containers"
    return None


def include_fault(root, path, included, dependencies):
    """A name without a folder is beside the file, generated, or of the standard library; else its folder decides."""
    first = included.split("/")[0]
    if "/" in included and (first in dependencies or os.path.isdir(os.path.join(root, first))):
        return layer_fault(path, included, dependencies)
    return library_fault(path, included, dependencies)


def word_faults(path, line):
    """Why the file may not use a word of this line."""
    for name, words, places in WORDS:
        found = re.search(words, COMMENT.sub("", line))
        if found and not any(re.fullmatch(place, path) for place in places):
            yield f"{found.group(0)}: {name} belongs only in {' '.join(places)}"


def has_guard(lines):
    """Whether the first two directives are an include guard."""
    directives = [line.split() for line in lines if line.lstrip().startswith("#")][:2]
    return (len(directives) == 2 and directives[0][0] == "#ifndef" and directives[1][0] == "#define"
            and directives[0][1:] == directives[1][1:])


def check_file(root, path, dependencies):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        lines = file.read().splitlines()
    guard_left = 1 if has_guard(lines) else 0
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        fault = include_fault(root, path, match.group(1), dependencies) if match else None
        if fault:
            yield f"{root}/{path}:{number}: includes {match.group(1)}: {fault}"
        for fault in word_faults(path, line):
            yield f"{root}/{path}:{number}: {fault}"
        if CONDITIONAL.match(line) and path not in CONDITIONAL_EXCEPTIONS:
            guard_left -= 1
            if guard_left < 0:
                yield f"{root}/{path}:{number}: {line.strip()}: choose a file in CMake instead of #if"


def main():
    root = (sys.argv[1:] or ["src"])[0].rstrip("/")
    dependencies = read_dependencies(root)
    faults, count = [], 0
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            if name.endswith((".cc", ".h", ".cu", ".cuh")):
                count += 1
                path = os.path.relpath(os.path.join(folder, name), root)
                if folder_of(path) in dependencies:
                    faults += check_file(root, path, dependencies)
                else:
                    faults.append(f"{root}/{path}: its folder has no CMakeLists.txt with an alibi_library")
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"check: layers: {count} files")
    sys.exit(1 if faults else 0)


main()

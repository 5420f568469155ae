# System packages: finds what is missing by asking the compiler and the shell, not the package list, so that a tool
# from anywhere counts; installs with apt where allowed. Sourced by scripts/setup.

# headers_missing: prints the packages whose header the compiler does not find, in one run of the preprocessor.
headers_missing() {
  local pair program=""
  for pair in nlohmann/json.hpp=nlohmann-json3-dev CLI/CLI.hpp=libcli11-dev spdlog/spdlog.h=libspdlog-dev \
    gtest/gtest.h=libgtest-dev openssl/sha.h=libssl-dev pcre2.h=libpcre2-dev utf8proc.h=libutf8proc-dev \
    archive.h=libarchive-dev zlib.h=zlib1g-dev simdjson.h=libsimdjson-dev; do
    program+="#if !__has_include(<${pair%%=*}>)"$'\n'"needs-${pair#*=}"$'\n#endif\n'
  done
  "${CXX:-g++}" -x c++ -std=c++17 -E -P - <<<"$program" | sed -n 's/^needs *- *//p' | tr -d ' '
}

# clang_runtime_missing: prints the package of libFuzzer and of clang's sanitizers, named after its version, where clang
# has none.
clang_runtime_missing() {
  local version
  if command -v clang++ >/dev/null; then
    if [ -e "$(clang++ -print-file-name=libclang_rt.fuzzer-x86_64.a)" ]; then return; fi
    version="$(clang++ -dumpversion)"
  else
    version="$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)"
  fi
  version="${version%%.*}"
  echo "libclang-rt-${version:-14}-dev"
}

# missing_packages VERIFY: prints the names of missing packages, one a line.
missing_packages() {
  local pair
  for pair in "${CXX:-g++}=g++" cmake=cmake ninja=ninja-build ccache=ccache git=git python3=python3 xz=xz-utils \
    pkg-config=pkg-config flock=util-linux; do
    command -v "${pair%%=*}" >/dev/null || echo "${pair#*=}"
  done
  if command -v "${CXX:-g++}" >/dev/null; then
    headers_missing
  else
    printf '%s\n' nlohmann-json3-dev libcli11-dev libspdlog-dev libgtest-dev libssl-dev libpcre2-dev libutf8proc-dev \
      libarchive-dev zlib1g-dev libsimdjson-dev
  fi
  if [ "$NEED_PIP" = 1 ]; then
    python3 -c 'import pip' 2>/dev/null || echo python3-pip
  fi
  if [ "$1" = 1 ]; then
    python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
    command -v clang-format >/dev/null || echo clang-format
    command -v clang-tidy >/dev/null || echo clang-tidy
    command -v strace >/dev/null || echo strace
    command -v debootstrap >/dev/null || echo debootstrap
    command -v zsh >/dev/null || echo zsh  # with fish, for what completion offers in them
    command -v fish >/dev/null || echo fish
    command -v clang++ >/dev/null || echo clang
    clang_runtime_missing
  fi
}

# become_root: prints the words to put before a command that needs root; fails where there is no way.
become_root() {
  if [ "$(id -u)" = 0 ]; then
    echo env
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    echo sudo
  else
    return 1
  fi
}

install_packages() {
  local missing
  missing="$(missing_packages "$1" | tr '\n' ' ')"
  missing="${missing% }"
  if [ -z "$missing" ]; then
    already "system packages"
    return
  fi
  apt_install "$missing"
}

# apt_install NAMES: of packages, one word each.
apt_install() {
  local missing="$1" root
  if ! command -v apt-get >/dev/null; then
    fail "this system has no apt-get, and these are missing (Debian's names): $missing. Install them, then run this again"
  fi
  if ! root="$(become_root)"; then
    fail "packages are missing, and installing them needs root. Have someone run: sudo apt-get update && sudo apt-get install -y $missing"
  fi
  step "system packages with apt: $missing"
  run_quietly "$TEMPORARY/apt.log" "$root" DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=300 update
  # shellcheck disable=SC2086 # one word a package
  run_quietly "$TEMPORARY/apt.log" "$root" DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing
  hash -r
  step_done
}

# at_least FOUND WANTED: compares versions.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

check_machine() {
  local system
  system="$(uname -sm)"
  [ "$system" = "Linux x86_64" ] || fail "this machine is '$system'; expected 'Linux x86_64' (for 64-bit Arm the program is cross-compiled there: scripts/on-arm64)"
}

check_tools() {
  local found
  if [ -z "${CXX:-}" ]; then
    found="$(g++ -dumpfullversion)"
    at_least "$found" 11 || fail "g++ is version $found; expected 11 or newer. Install a newer one and name it in CXX (CXX=g++-12 $0)"
  fi
  found="$(cmake --version | awk 'NR == 1 {print $3}')"
  at_least "$found" 3.22 || fail "cmake is version $found; expected 3.22 or newer. A newer one: python3 -m pip install --user cmake"
}

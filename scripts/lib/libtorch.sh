# LibTorch from the pinned wheels of wheels.txt, unpacked into one folder of the cache, and nvcc in another. Sourced by scripts/setup.
# What is there is recorded in .installed/NAME-VERSION-PART, one empty file each, made after the files themselves.

TORCH_VERSION=2.11.0
TORCH_FOLDER="$CACHE/torch-$TORCH_VERSION"
NVCC_FOLDER="$CACHE/nvcc-13.0.88"
WHEEL_PLATFORM=() # pip's options for another processor than this one

# own_torch: prints where the user's own LibTorch is named, or nothing.
own_torch() {
  if [ -n "${Torch_DIR:-}" ]; then
    if [ ! -e "$Torch_DIR/TorchConfig.cmake" ]; then
      fail "Torch_DIR=$Torch_DIR holds no TorchConfig.cmake. Set it to LibTorch's share/cmake/Torch, or unset it for the pinned package"
    fi
    echo "Torch_DIR=$Torch_DIR"
    return
  fi
  local place places
  IFS=: read -r -a places <<<"${CMAKE_PREFIX_PATH:-}"
  for place in "${places[@]}"; do
    if [ -e "$place/share/cmake/Torch/TorchConfig.cmake" ] || [ -e "$place/torch/share/cmake/Torch/TorchConfig.cmake" ]; then
      echo "CMAKE_PREFIX_PATH has $place"
      return
    fi
  done
}

# pip_download FOLDER REQUIREMENT SHA256 OPTION...: one file of PyPI, its hash checked by pip.
# PIP_NO_CACHE_DIR: else pip would keep half a gigabyte a second time.
pip_download() {
  local folder="$1" requirement="$2" hash="$3"
  shift 3
  mkdir -p "$folder"
  echo "$requirement --hash=sha256:$hash" >"$folder.txt"
  PIP_NO_CACHE_DIR=1 run_quietly "$folder.log" python3 -m pip --disable-pip-version-check \
    download --no-deps --require-hashes "$@" -d "$folder" -r "$folder.txt"
}

# add_wheel NAME VERSION SHA256 PART FOLDER
add_wheel() {
  local mark="$5/.installed/$1-$2-$4"
  if [ -e "$mark" ]; then return; fi
  step "$1 $2 ($4 part) from PyPI"
  local download="$TEMPORARY/wheel"
  pip_download "$download" "$1==$2" "$3" --only-binary=:all: --python-version 3.11 "${WHEEL_PLATFORM[@]}"
  run_quietly "$download.log" python3 "$LIB/unpack_wheel.py" "$download"/*.whl "$5" "$4"
  rm -rf "$download"
  mkdir -p "$5/.installed"
  touch "$mark"
  step_done
}

# missing_wheels PART: prints the lines of wheels.txt that PART still lacks, as "name version sha256 part".
missing_wheels() {
  local set name version hash
  while read -r set name version hash; do
    case "$1/$set/$name" in
      py/cpu/torch | cpu/cpu/* | cuda/cpu/* | cuda/cuda/* | nvcc/nvcc/* | arm64/arm64/*) ;;
      *) continue ;;
    esac
    local installed="$TORCH_FOLDER/.installed/$name-$version"
    if [ ! -e "$installed-$1" ] && [ ! -e "$installed-cuda" ] && ! { [ "$1" = py ] && [ -e "$installed-cpu" ]; }; then
      echo "$name $version $hash $1"
    fi
  done < <(grep -v '^#' "$LIB/wheels.txt")
}

missing_nvcc() { TORCH_FOLDER="$NVCC_FOLDER" missing_wheels nvcc; }

install_nvcc() { TORCH_FOLDER="$NVCC_FOLDER" install_wheels nvcc nvcc; }

# install_libtorch PART: "py" (only the Python sources, for the default corpus), "cpu", "cuda", or "arm64" (arm64.sh).
install_libtorch() { install_wheels "$1" "LibTorch $TORCH_VERSION ($1 part)"; }

# install_wheels PART WHAT: into TORCH_FOLDER. A first installation appears with one rename; a later addition writes each file aside.
install_wheels() {
  local missing target name version hash part
  missing="$(missing_wheels "$1")"
  if [ -z "$missing" ]; then
    already "$2 in $TORCH_FOLDER"
    return
  fi
  target="$TORCH_FOLDER"
  [ -e "$target" ] || target="$TEMPORARY/tree"
  while read -r name version hash part; do
    add_wheel "$name" "$version" "$hash" "$part" "$target"
  done <<<"$missing"
  [ "$target" = "$TORCH_FOLDER" ] || mv -T "$target" "$TORCH_FOLDER"
}

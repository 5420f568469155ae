# What preset arm64 needs, in the folder arm64 of the cache: a sysroot of Debian's packages, LibTorch, sentencepiece. Sourced by
# scripts/setup.

ARM64_FOLDER="$CACHE/arm64"
ARM64_TORCH="$ARM64_FOLDER/torch-$TORCH_VERSION"
ARM64_SENTENCEPIECE="$ARM64_FOLDER/sentencepiece-$SENTENCEPIECE_VERSION"
ARM64_PACKAGES=(libc6-dev libstdc++6 libgomp1 nlohmann-json3-dev libcli11-dev libspdlog-dev libgtest-dev libssl-dev libpcre2-dev
  libutf8proc-dev libarchive-dev zlib1g-dev libsimdjson-dev)

# has_sysroot: made from these packages, not from those of another version.
has_sysroot() { [ "$(cat "$ARM64_FOLDER/sysroot/packages" 2>/dev/null)" = "${ARM64_PACKAGES[*]}" ]; }

# missing_arm64: prints what of it is not there yet.
missing_arm64() {
  has_sysroot || echo "$ARM64_FOLDER/sysroot"
  [ -e "$ARM64_SENTENCEPIECE" ] || echo "$ARM64_SENTENCEPIECE"
  TORCH_FOLDER="$ARM64_TORCH" missing_wheels arm64
}

# arm64_apt WORD...: apt-get for another processor, with lists and a state of its own: the system's are neither read nor changed.
arm64_apt() { APT_CONFIG="$TEMPORARY/apt/apt.conf" run_quietly "$TEMPORARY/apt.log" apt-get "$@"; }

install_sysroot() {
  local sysroot="$ARM64_FOLDER/sysroot" apt="$TEMPORARY/apt" package link
  if has_sysroot; then
    already "Debian's packages for arm64 in $sysroot"
    return
  fi
  step "Debian's packages for arm64"
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/sysroot"
  : >"$apt/status"
  cat >"$apt/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "$(id -un)";
Dir::State::Lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Dir::Cache::archives "$apt/archives";
Debug::NoLocking "true";
END
  arm64_apt update
  arm64_apt install -y --no-install-recommends --download-only "${ARM64_PACKAGES[@]}"
  for package in "$apt"/archives/*.deb; do run_quietly "$TEMPORARY/apt.log" dpkg-deb --extract "$package" "$apt/sysroot"; done
  # Links that start at the root are to stay in the sysroot.
  find "$apt/sysroot" -type l -lname '/*' | while read -r link; do
    ln -sfnr "$apt/sysroot$(readlink "$link")" "$link"
  done
  echo "${ARM64_PACKAGES[*]}" >"$apt/sysroot/packages"
  rm -rf "$sysroot"
  mv -T "$apt/sysroot" "$sysroot"
  rm -rf "$apt"
  step_done
}

install_arm64() {
  local missing=""
  is_debian || fail "/etc/os-release names no Debian, whose arm64 packages --arm64 takes. Leave --arm64 out"
  command -v aarch64-linux-gnu-g++ >/dev/null || missing="g++-aarch64-linux-gnu"
  command -v qemu-aarch64-static >/dev/null || missing="$missing qemu-user-static"
  if [ -n "$missing" ]; then apt_install "${missing# }"; fi
  mkdir -p "$ARM64_FOLDER"
  install_sysroot
  WHEEL_PLATFORM=(--platform manylinux_2_28_aarch64 --platform manylinux_2_25_aarch64 --platform manylinux2014_aarch64)
  TORCH_FOLDER="$ARM64_TORCH" install_libtorch arm64
  if [ -e "$ARM64_SENTENCEPIECE" ]; then
    already "sentencepiece $SENTENCEPIECE_VERSION in $ARM64_SENTENCEPIECE"
  else
    build_sentencepiece "$ARM64_SENTENCEPIECE" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake"
  fi
}

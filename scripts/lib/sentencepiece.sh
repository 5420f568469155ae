# sentencepiece as static libraries: the system's where it is new enough, else built from the pinned source package
# of PyPI, which carries all it needs (0.2.1 corrects CVE-2026-1260). Sourced by scripts/setup.

SENTENCEPIECE_VERSION=0.2.1
SENTENCEPIECE_HASH=8138cec27c2f2282f4a34d9a016e3374cd40e5c6e9cb335063db66a0a3b71fad
SENTENCEPIECE_FOLDER="$CACHE/sentencepiece-$SENTENCEPIECE_VERSION"

system_sentencepiece() { pkg-config --atleast-version="$SENTENCEPIECE_VERSION" sentencepiece 2>/dev/null; }

install_sentencepiece() {
  if system_sentencepiece; then
    already "sentencepiece $(pkg-config --modversion sentencepiece) of the system"
    return
  fi
  if [ -e "$SENTENCEPIECE_FOLDER" ]; then
    already "sentencepiece $SENTENCEPIECE_VERSION in $SENTENCEPIECE_FOLDER"
    return
  fi
  build_sentencepiece "$SENTENCEPIECE_FOLDER"
}

# build_sentencepiece FOLDER OPTION...: with these options of CMake.
build_sentencepiece() {
  local folder="$1"
  shift
  step "sentencepiece $SENTENCEPIECE_VERSION from PyPI, built here (a minute or two)"
  local work="$TEMPORARY/sentencepiece"
  # pip reads a source package's metadata by setuptools: of a pinned version, by the name of old or of new pips.
  PIP_CONSTRAINT="$LIB/build-constraints.txt" PIP_BUILD_CONSTRAINT="$LIB/build-constraints.txt" \
    pip_download "$work" "sentencepiece==$SENTENCEPIECE_VERSION" "$SENTENCEPIECE_HASH" --no-binary=sentencepiece
  run_quietly "$work.log" tar -xzf "$work/sentencepiece-$SENTENCEPIECE_VERSION.tar.gz" -C "$work"
  local source="$work/sentencepiece-$SENTENCEPIECE_VERSION/sentencepiece"
  # Compiled with ccache by CMakeLists' own choice elsewhere; here a plain compiler, once a machine.
  run_quietly "$work.log" cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DSPM_ENABLE_SHARED=OFF -DSPM_ENABLE_TCMALLOC=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@"
  run_quietly "$work.log" cmake --build "$work/build" -j "$(nproc)" \
    --target sentencepiece-static sentencepiece_train-static
  mkdir -p "$work/out/include" "$work/out/lib"
  cp "$source"/src/sentencepiece_{processor,trainer}.h "$source/LICENSE" "$work/out/include/"
  mv "$work/out/include/LICENSE" "$work/out/LICENSE"
  cp "$work"/build/src/libsentencepiece{,_train}.a "$work/out/lib/"
  mv -T "$work/out" "$folder"
  rm -rf "$work"
  step_done
}

# The verification packages: a Python environment of its own, used only by tests that compare with PyTorch.
# Sourced by scripts/setup. The stamp holds the list's checksum, so a changed list is installed afresh.

VERIFY_FOLDER="$CACHE/verify-1"

install_verify() {
  local list lists=("$LIB/verify-requirements.txt") stamp="$VERIFY_FOLDER/.complete"
  # pandas and scipy have no wheels for 3.10 any more; the test with lm-eval is left out there.
  if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then lists+=("$LIB/lm-eval-requirements.txt"); fi
  local wanted
  wanted="$(cat "${lists[@]}" | sha256sum)"
  # Another Python finds nothing of what was installed for this one, whose bin/python it may be now.
  local for_python
  for_python="$VERIFY_FOLDER/lib/python$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && [ -x "$VERIFY_FOLDER/bin/python" ] && [ -d "$for_python" ]; then
    already "verification packages in $VERIFY_FOLDER"
    return
  fi
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "python3 is $(python3 --version 2>&1); the verification packages expect 3.10 or newer"
  step "verification packages (PyTorch for Python and what it loads) from PyPI"
  rm -rf "$VERIFY_FOLDER"
  run_quietly "$TEMPORARY/verify.log" python3 -m venv "$VERIFY_FOLDER"
  for list in "${lists[@]}"; do
    run_quietly "$TEMPORARY/verify.log" "$VERIFY_FOLDER/bin/python" -m pip --disable-pip-version-check --no-cache-dir \
      install --no-deps --no-compile --require-hashes --only-binary=:all: -r "$list"
  done
  run_quietly "$TEMPORARY/verify.log" "$VERIFY_FOLDER/bin/python" -c 'import torch, safetensors, numpy, sentencepiece, transformers, gguf, xllamacpp, tensorboard, fastjsonschema'
  echo "$wanted" >"$stamp"
  step_done
}

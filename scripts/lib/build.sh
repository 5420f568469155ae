# Building one preset, for scripts/build and scripts/test. Sourced, not run.

export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"

# timed WHAT COMMAND...: shows the command's output, then how long it took.
timed() {
  local what="$1" start=$SECONDS
  shift
  say "$what"
  "$@" || fail "$what failed: '$*' (its output is above)"
  say "$what: done in $((SECONDS - start)) s"
}

# set_up_once OPTION...: scripts/setup, unless the caller asked to leave it out.
set_up_once() {
  if [ "${ALIBI_SKIP_SETUP:-0}" = 1 ]; then
    say "set-up left out (ALIBI_SKIP_SETUP=1)"
    return
  fi
  scripts/setup "$@"
}

# check_preset NAME: names the known ones where it is none of them.
check_preset() {
  local known
  known="$(sed -n '/"buildPresets"/,/\]/s/.*"name": "\([^"]*\)".*/\1/p' CMakePresets.json | tr '\n' ' ')"
  case " $known" in
    *" $1 "*) ;;
    *) usage_error "no preset '$1' in CMakePresets.json; expected one of: ${known% }" ;;
  esac
}

# compile_jobs: how many files at once: of the cores' number what the free memory holds, where each takes some 1.4 GB.
compile_jobs() {
  awk -v cores="$(nproc)" '/^MemAvailable:/ { fit = int($2 / 1400000); print (fit < 1 ? 1 : fit < cores ? fit : cores); seen = 1 } END { if (!seen) print cores }' /proc/meminfo
}

# build_preset NAME [TARGET]     everything, or one target
build_preset() {
  local start=$SECONDS
  check_preset "$1"
  case "$1" in
    cuda) set_up_once --cuda ;;
    arm64) set_up_once --arm64 ;;
    *) set_up_once ;;
  esac
  timed "configure $1" cmake --preset "$1"
  timed "compile $1" cmake --build --preset "$1" -j "$(compile_jobs)" ${2:+--target "$2"}
  say "built in $((SECONDS - start)) s: build/$1"
}

# Shared by the scripts: messages, timed steps, the cache folder and its lock. Sourced, not run.

# Figures with points (mawk writes 0,5 where the locale does), and other programs' messages as they are searched for.
export LC_ALL=C.UTF-8

if [ -z "${HOME:-}" ]; then # as in some services: what the system has for this user
  unset HOME
  export HOME=~
fi
CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/alibi"
PROGRAM="$(basename "$0")"
STEP_OPEN=0 # 1 while a step's line waits for its end

say() { printf '%s: %s\n' "$PROGRAM" "$*"; }

# fail TEXT: one line on stderr, exit 1. The text names place, found, expected and the way out.
fail() {
  if [ "$STEP_OPEN" = 1 ]; then printf 'failed\n'; fi
  STEP_OPEN=0
  printf '%s: error: %s\n' "$PROGRAM" "$*" >&2
  exit 1
}

# usage_error TEXT: a wrong command line, exit 2.
usage_error() {
  printf '%s: error: %s (see scripts/%s --help)\n' "$PROGRAM" "$*" "$PROGRAM" >&2
  exit 2
}

# show_help: prints the comment block at the head of the running script.
show_help() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"; }

# step TEXT ... step_done | step_there: one line a step, with its time.
step() {
  STEP_START=$SECONDS
  STEP_OPEN=1
  printf '%s: %s ... ' "$PROGRAM" "$*"
}
step_done() {
  STEP_OPEN=0
  printf 'done in %d s\n' $((SECONDS - STEP_START))
}
already() { say "$1 ... already there"; }

# failure_reason LOG: one line that tells why the command failed.
failure_reason() {
  if grep -qiE 'NewConnectionError|name resolution|Name or service not known|Temporary failure resolving|Network is unreachable|timed out' "$1"; then
    echo "the package index cannot be reached; check the network and run this again"
    return
  fi
  if grep -q 'DO NOT MATCH THE HASHES' "$1"; then
    echo "a downloaded file is not the pinned one (its sha256 differs); try again, and check any package mirror you use"
    return
  fi
  local reason
  reason="$(grep -iE 'error|could not|unable|no space|fatal' "$1" | grep -v '^ *File ' | tail -n 1 || true)"
  [ -n "$reason" ] || reason="$(tail -n 1 "$1")"
  echo "${reason:-no output}"
}

# run_quietly LOG COMMAND...: output goes to LOG; on failure one telling line of it becomes our error.
run_quietly() {
  local log="$1"
  shift
  if ! "$@" >"$log" 2>&1; then
    local kept="$CACHE/last-failure.log"
    cp "$log" "$kept" 2>/dev/null || kept="(not kept)"
    fail "$(failure_reason "$log") (command: '${*:1:5} ...'; its whole output: $kept)"
  fi
}

is_debian() { grep -q '^ID=debian' /etc/os-release; }

# is_clone: whether git knows this folder as a clone of its own: not so in an unpacked archive, or for another user's.
is_clone() { [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; }

# project_files PATTERN...: the files of the project that git knows or would take; where this is no clone, all but what .gitignore names.
project_files() {
  local pattern path
  if is_clone; then
    git ls-files -co --exclude-standard -- "$@" | while read -r path; do if [ -f "$path" ]; then echo "$path"; fi; done
    return
  fi
  for pattern in "$@"; do
    find . \( -path './data/*' ! -path ./data/README.md ! -path './data/results*' -o -path './data/results/*/index.html' -o -name __pycache__ \
      -o -regex '\./\(\.git\|build\|runs\|exports\|imports\|prepared\|curves\|downloads\|results\|dist\)' \) -prune -o \
      -type f -path "./$pattern" -print | sed 's|^\./||'
  done
}

# copy_project FOLDER: its files as they are here.
copy_project() { project_files '*' | tar --create --verbatim-files-from --files-from=- | tar --extract --directory "$1"; }

# need_space FOLDER GIGABYTES WHAT
need_space() {
  local free
  free="$(df -Pk "$1" | awk 'NR == 2 {print $4}')"
  if [ "$free" -lt $(($2 * 1000000)) ]; then
    fail "$1: $((free / 1000)) MB free, $3 needs $2 GB. Free some space, or set XDG_CACHE_HOME to a folder on a larger disk"
  fi
}

# open_cache: makes the cache folder, takes its lock (one set-up at a time), clears what a killed run left behind.
open_cache() {
  # Again where the one that was waited for removed the folder, and the lock with it.
  until [ "$CACHE/lock" -ef /proc/self/fd/9 ]; do
    mkdir -p "$CACHE" 2>/dev/null || fail "$CACHE: cannot make this folder. Set XDG_CACHE_HOME to one you may write"
    [ -w "$CACHE" ] || fail "$CACHE: not writable by $(id -un). Set XDG_CACHE_HOME to a folder you may write"
    exec 9>"$CACHE/lock"
    if ! flock -n 9; then
      say "another set-up holds $CACHE/lock; waiting for it"
      flock 9
    fi
  done
  rm -rf "$CACHE"/tmp.*
}

# make_temporary: sets TEMPORARY to a fresh folder in the cache, on the same file system as what is renamed from it.
make_temporary() {
  TEMPORARY="$(mktemp -d "$CACHE/tmp.XXXXXX")"
  export TMPDIR="$TEMPORARY"
  trap 'rm -rf "$TEMPORARY"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# Making and trying the image of scripts/container/Containerfile, with an engine or with folders in its place. Sourced by
# scripts/package; needs common.sh and debian.sh.

CONTAINERFILE=scripts/container/Containerfile
engine="" image=""                  # the engine, or nothing; the image's name or folder
user="" folder="" environment=()    # what the Containerfile's last stage says: USER, WORKDIR, ENV

# find_engine: prints docker or podman, whichever answers.
find_engine() {
  local name
  for name in docker podman; do
    if command -v "$name" >/dev/null && "$name" info >/dev/null 2>&1; then
      echo "$name"
      return
    fi
  done
}

# copy_into SOURCE TARGET: as COPY does, a folder's content.
copy_into() {
  if [ -d "$1" ]; then
    mkdir -p "$2"
    cp -a "$1/." "$2/"
  else
    mkdir -p "$(dirname "$2")"
    cp -a "$1" "$2"
  fi
}

# follow BASE FOLDER: does what the Containerfile says by chroot. Each stage is a copy of the system BASE, FOLDER/NAME, the last one
# FOLDER/image. With no BASE only image, user, folder and environment are set.
follow() {
  local lines line word rest name stage="" sources target source from
  local -A values=()
  local reaching=()
  mapfile -t lines <"$CONTAINERFILE"
  for line in "${lines[@]}"; do
    read -r word rest <<<"$line"
    for name in "${!values[@]}"; do rest="${rest//\$\{$name\}/${values[$name]}}"; done
    case "$word" in
      "" | \#* | LABEL | ENTRYPOINT) ;;
      ARG) values["${rest%%=*}"]="${rest#*=}" ;;
      ENV) environment+=("$rest") ;;
      USER) user="$rest" ;;
      WORKDIR) folder="$rest" ;;
      FROM)
        environment=() folder=/ user=0:0 stage="$2/image"
        if [[ "$rest" == *" AS "* ]]; then stage="$2/${rest##* }"; fi
        [ -n "$1" ] || continue
        cp -a "$1" "$stage"
        # This machine's authorities, under a name that the stage's package of certificates does not write over.
        if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
          cp -L /etc/ssl/certs/ca-certificates.crt "$stage/etc/authorities.crt"
          reaching=(SSL_CERT_FILE=/etc/authorities.crt)
        fi
        ;;
      COPY)
        [ -n "$1" ] || continue
        from=.
        if [[ "$rest" == --from=* ]]; then
          read -r from rest <<<"$rest"
          from="$2/${from#--from=}"
        fi
        read -r -a sources <<<"$rest"
        target="${sources[-1]}"
        unset 'sources[-1]'
        if [[ "$target" != /* ]]; then target="$folder/$target"; fi
        for source in "${sources[@]}"; do
          if [ "${#sources[@]}" -gt 1 ]; then copy_into "$from/$source" "$stage$target/$source"; else copy_into "$from/$source" "$stage$target"; fi
        done
        ;;
      RUN)
        [ -n "$1" ] || continue
        reach_indexes "$stage"
        timed "$(basename "$stage"): $rest" inside "$stage" env --chdir="$folder" "${reaching[@]}" "${environment[@]}" sh -c "$rest" </dev/null
        ;;
      *) fail "$CONTAINERFILE: instruction '$word' is not followed by chroot; expected one of those its first lines name. Add it to follow() in scripts/container/image.sh" ;;
    esac
  done
  if [ -n "$1" ]; then image="$stage"; fi
}

# make_folders WORK: the image as a folder.
make_folders() {
  local reason
  reason="$(no_system_here "$1")"
  [ -z "$reason" ] || fail "the image cannot be made as a folder: $reason. Use a machine with docker or podman, or root with debootstrap"
  need_space "$1" 7 "an image with its build stage"
  mkdir "$1/base"
  make_debian "$(sed -n 's/^ARG BASE=debian:\([0-9]*\)-slim$/\1/p' "$CONTAINERFILE")" "$1/base"
  # As the engine's slim base has it: no archives, no lists of packages, no documentation but copyrights.
  rm -rf "$1"/base/var/cache/apt/*.bin "$1"/base/var/cache/apt/archives/*.deb "$1"/base/var/lib/apt/lists/* "$1"/base/var/log/bootstrap.log \
    "$1"/base/usr/share/{man,info,locale,lintian}/*
  find "$1/base/usr/share/doc" ! -type d ! -name copyright -delete
  printf 'path-exclude /usr/share/%s/*\n' man info locale lintian doc >"$1/base/etc/dpkg/dpkg.cfg.d/docker"
  echo 'path-include /usr/share/doc/*/copyright' >>"$1/base/etc/dpkg/dpkg.cfg.d/docker"
  follow "$1/base" "$1"
  # An engine mounts its own over them.
  rm -f "$image"/etc/{resolv.conf,hosts,pip.conf,authorities.crt}
}

# in_image MOUNTED UID:GID COMMAND...: as a container's process with MOUNTED in place of its folder and nothing else to write to. An
# empty UID:GID means the image's own user.
in_image() {
  local mounted="$1" as="$2" names=()
  shift 2
  # Without root podman gives files to another uid than the one inside, unless told.
  if [ "$engine" = podman ] && [ "$(id -u)" != 0 ]; then names=(--userns=keep-id); fi
  if [ -n "$engine" ]; then
    "$engine" run --rm "${names[@]}" --read-only --network=none --cap-drop=ALL --security-opt=no-new-privileges \
      -v "$mounted:$folder" ${as:+--user "$as"} --entrypoint "$1" "$image" "${@:2}"
    return
  fi
  # shellcheck disable=SC2016 # for the shell inside
  unshare --mount --pid --net --fork --kill-child sh -c 'mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount -o remount,bind,ro "$0" &&
      mount --bind "$1" "$0$2" && shift 2 && exec "$@"' "$image" "$mounted" "$folder" \
    chroot --userspec="${as:-$user}" --groups="" "$image" env -i --chdir="$folder" HOME=/ \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${environment[@]}" "$@"
}

# try_image WORK: what a user does first, as the image's user and as one that has no entry in its passwd; where this user is not root,
# as itself.
try_image() {
  local as found mounted users=("" 4242:4343)
  if [ "$(id -u)" != 0 ]; then users=("$(id -u):$(id -g)"); fi
  found="$(in_image "$1" "" sh -c 'for tool in cc c++ gcc g++ cpp clang ld as make cmake ninja git python3 pip; do command -v $tool; done; true')"
  [ -z "$found" ] || fail "the image holds tools of building: found $(tr '\n' ' ' <<<"$found"), expected none. See which package of /opt/alibi/packages brings them"
  version="$(in_image "$1" "" alibi --version)"
  grep -q "image.version=\"$(awk '{ print $2 }' <<<"$version")\"$" "$CONTAINERFILE" ||
    fail "$CONTAINERFILE: its label org.opencontainers.image.version is not that of the program, which says '$version'. Set the label"
  for as in "${users[@]}"; do
    step "$version as ${as:-the user of the image, $user}"
    mounted="$(mktemp -d "$1/mounted.XXXXXX")"
    chmod 700 "$mounted"
    [ "$(id -u)" != 0 ] || chown "${as:-$user}" "$mounted"
    try_commands "$mounted" "$as"
    step_done
  done
  step "the text in the image, as $as"
  quietly "$mounted" "$as" alibi train /opt/alibi/quickstart.json --set run.train_tokens=16384 --set schedule.warmup_tokens=8192 --set run.validation_tokens=4096
  [ -d "$mounted/.cache/alibi/prepared" ] || fail "prepared text is not in .cache of the mounted folder, expected it at XDG_CACHE_HOME of $CONTAINERFILE"
  step_done
}

# quietly MOUNTED UID:GID COMMAND...
quietly() { in_image "$@" >"$1.log" 2>&1 </dev/null || fail "in the image, as '${2:-$user}': '${*:3}' failed: $(tail -n 3 "$1.log")"; }

try_commands() { # MOUNTED UID:GID
  local expected="${2:-$user}" found
  found="$(in_image "$1" "$2" id -u)"
  [ "$found" = "${expected%:*}" ] && [ "$found" != 0 ] || fail "the process has uid $found, expected ${expected%:*}"
  # Written by the user itself: this machine's root may not write into the folder of another.
  # shellcheck disable=SC2016 # for the shell inside
  quietly "$1" "$2" sh -c 'i=0; while [ $i -lt 1000 ]; do echo "The quick brown fox jumps over the lazy dog, and the dog looks on."; i=$((i + 1)); done >text.txt
    echo "{\"model\": {\"layers\": 1, \"width\": 32, \"heads\": 2}, \"tokenizer\": {\"kind\": \"bytes\"}, \"evaluate\": {\"max_tokens\": 8000},
      \"batch\": {\"sequence_length\": 64, \"sequences\": 4, \"train_sequence_length_scaling\": 0.5},
      \"data\": {\"train\": [\"text.txt\"], \"valid_fraction\": 0.2}, \"run\": {\"name\": \"tried\", \"train_tokens\": 5120}}" >tried.json'
  quietly "$1" "$2" alibi train tried.json
  quietly "$1" "$2" alibi evaluate runs/tried --lengths 1x,4x --output curve
  quietly "$1" "$2" alibi export runs/tried --to hf --curve curve --output exported
  quietly "$1" "$2" sh -c 'test -d runs/tried/checkpoints/step-00000020 && test -s curve/curve.json && test -s exported/model.safetensors'
  found="$(in_image "$1" "$2" find . ! -uid "${expected%:*}" -o ! -gid "${expected#*:}")"
  [ -z "$found" ] || fail "files in the mounted folder belong to others than $expected: $(head -n 1 <<<"$found")"
}

# package_container [--debootstrap]
package_container() {
  local bytes
  engine=""
  case "${1:-}" in
    --debootstrap) ;;
    "") engine="$(find_engine)" ;;
    *) usage_error "container: found '$1', expected nothing or --debootstrap" ;;
  esac
  mkdir -p "$CACHE"
  # Not local, and no local of another function: the trap reads it wherever the script ends.
  work="$(mktemp -d "$CACHE/container.XXXXXX")"
  chmod 755 "$work"
  trap 'if [ "${ALIBI_KEEP:-0}" = 1 ]; then say "kept: $work"; else rm -rf --one-file-system "$work"; fi' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  if [ -n "$engine" ]; then
    follow "" "$work"
    image=alibi-lm
    timed "$engine build" "$engine" build -f "$CONTAINERFILE" -t "$image" .
    bytes="$("$engine" image inspect --format '{{.Size}}' "$image")"
  else
    say "no engine is used: the steps of $CONTAINERFILE run by chroot in $work"
    make_folders "$work"
    bytes="$(du -sb "$image" | cut -f1)"
  fi
  try_image "$work"
  say "image $image: $((bytes / 1000000)) MB, tried in $SECONDS s"
}

# Fresh Debian systems in folders, by debootstrap and chroot. Sourced, not run; needs common.sh.

# no_system_here FOLDER: prints why no system can be made below FOLDER; nothing where one can.
no_system_here() {
  [ "$(id -u)" = 0 ] || { echo "making a system needs root"; return; }
  command -v debootstrap >/dev/null || { echo "debootstrap is not installed"; return; }
  unshare --mount --pid --fork --mount-proc chroot / true 2>/dev/null || { echo "mounting is not allowed here"; return; }
  local device="$1/null.$$"
  mknod "$device" c 1 3 2>/dev/null && : 2>/dev/null >"$device" || echo "devices cannot be made in $1"
  rm -f "$device"
}

# make_debian SUITE FOLDER [PACKAGES]: the smallest system, and PACKAGES (with commas between them). What it mounts and starts ends with it.
make_debian() {
  local mirror="" log="$2.log"
  local -A names=([12]=bookworm [13]=trixie)
  # The package mirror that this machine uses, where it is a Debian, too; else debootstrap's own.
  if grep -q '^ID=debian' /etc/os-release; then
    mirror="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)"
  fi
  step "a fresh Debian $1 in $2"
  chmod 755 "$2"
  run_quietly "$log" unshare --mount --pid --fork --kill-child --mount-proc debootstrap --variant=minbase ${3:+"--include=$3"} "${names[$1]}" "$2" ${mirror:+"$mirror"}
  rm -f "$log"
  step_done
}

# reach_indexes FOLDER: the system there reaches package indexes as this machine does.
reach_indexes() {
  local file
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
    if [ -e "$file" ] && [ -d "$1${file%/*}" ]; then cp -L "$file" "$1$file"; fi
  done
}

# inside FOLDER COMMAND...: as root in the system there, with processes, terminals and mounts that end with it.
inside() {
  local folder="$1"
  shift
  unshare --mount --pid --fork --kill-child --mount-proc="$folder/proc" \
    sh -c 'mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts" && mount --bind "$0/dev/pts/ptmx" "$0/dev/ptmx" && exec "$@"' "$folder" \
    env -u CC -u CXX -u XDG_CACHE_HOME -u CMAKE_PREFIX_PATH -u Torch_DIR -u ALIBI_SKIP_SETUP -u TMPDIR HOME=/root LC_ALL=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    chroot "$folder" "$@"
}

#!/bin/sh
# Prepares a Debian machine: installs missing Debian packages and npm packages, builds the holder and the nodes' root file systems. Repeated
# runs change nothing that exists; if nothing is missing, neither apt nor npm is called.
set -eu

# The Debian packages that the machine needs, with their use. Nodes run on their own root file systems.
packages='
gcc        compiles the programs in native/
libc6-dev  compiles the programs in native/
libjansson-dev  the JSON library of the supervisor of virtual machines
iproute2   ip and tc lay links, bridges and shaping
e2fsprogs  mke2fs makes the disk of the small virtual machine
lz4        unpacks the kernel of nodes with a kernel of their own
squashfs-tools  mksquashfs makes the disks of nodes with a kernel of their own
nftables   nft leads nat networks out of the machine
tar        makes whiteouts and fifos of container layers
xz-utils   unpacks container archives
less       a pager that console tests page through
tshark     tests read captures with it
wireshark-common  its sharkd decodes the packets of captures
fonts-dejavu-core  letters for that browser
openssh-client  tests log in to nodes with it
postgresql  tests run a PostgreSQL of their own
ansible-core    tests run it against a lab
docker-registry  tests pull container images from it
'
# An installed Chromium is not replaced. The headless shell is smaller and starts faster.
command -v chromium > /dev/null || packages="$packages
chromium-headless-shell  tests open the web pages with it
"
# busybox and busybox-static exclude each other: either is sufficient, and an installed one is not replaced.
command -v busybox > /dev/null || packages="$packages
busybox    its udhcpd gives addresses on nat networks
"

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

now() { date +%s%N; }
# step NAME RESULT STARTED
step() { printf '%s: %s (%s s)\n' "$1" "$2" "$(awk -v from="$3" -v to="$(now)" 'BEGIN { printf "%.1f", (to - from) / 1e9 }')"; }
fail() {
  printf 'set-up stopped: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}

# --- the machine ------------------------------------------------------------------------------------------------------------------
start=$(now)
[ "$(uname -s)" = Linux ] || fail "the embedded host needs Linux; this is $(uname -s)" \
  'Use a Debian machine (a virtual one will do). The client and the CLI work anywhere with Node 24.'
command -v apt-get > /dev/null && command -v dpkg-query > /dev/null || fail 'this is not Debian or a distribution derived from it: apt-get or dpkg is missing' \
  'Set-up builds the root file systems of nodes from Debian packages. Use Debian 12 or newer.'
command -v npm > /dev/null || fail 'npm is missing' 'Install it: apt-get install npm (any Node from 18 on will do; the exact one comes with npm ci).'
uid=$(id -u)
unshare --user true 2> /dev/null || fail 'this machine makes no user namespaces, and every lab lives in one' \
  'As root: sysctl -w user.max_user_namespaces=65536 and, where it exists, sysctl -w kernel.unprivileged_userns_clone=1.' \
  'In a container: allow them there (Docker: --security-opt seccomp=unconfined --privileged).'
if [ "$uid" -eq 0 ]; then who=root; else who='not root: labs work as far as the kernel lets an ordinary user; nat networks need root'; fi
step machine "$(. /etc/os-release && echo "$PRETTY_NAME"), $who" "$start"

# Only one set-up runs in this directory at a time.
exec 9< "$root"
flock -n 9 || {
  echo 'set-up: waiting for another one in this directory'
  flock 9
}

# --- Debian packages --------------------------------------------------------------------------------------------------------------
start=$(now)
names=$(printf '%s' "$packages" | awk 'NF { print $1 }')
# shellcheck disable=SC2086 # one word a package
there=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $names 2> /dev/null | awk '$1 == "installed" { print $2 }' || true)
missing=
for name in $names; do
  case "
$there
" in
  *"
$name
"*) ;;
  *) missing="$missing $name" ;;
  esac
done
if [ -z "$missing" ]; then
  step 'Debian packages' 'all there' "$start"
else
  [ "$uid" -eq 0 ] || fail "Debian packages are missing:$missing" "Ask root for: apt-get install --no-install-recommends$missing"
  log=$(mktemp)
  echo "Debian packages: installing$missing"
  # apt's output is written to the log and its progress to the terminal: this takes a minute.
  # shellcheck disable=SC2086
  install() {
    rm -f "$log.done"
    { DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o APT::Status-Fd=3 $missing 3>&1 > "$log" 2>&1 && : > "$log.done"; } |
      quarters
    [ -e "$log.done" ]
  }
  # Lines such as pmstatus:less:61.2:Unpacking less (amd64).
  quarters() {
    # After Ctrl-C apt completes the current package; without a reader it could not.
    trap '' INT HUP
    last=
    while IFS=: read -r kind _ percent _; do
      case $kind in dlstatus) what=fetched ;; pmstatus) what=installed ;; *) continue ;; esac
      percent=${percent%%.*}
      case $percent in '' | *[!0-9]*) continue ;; esac
      reached="$((percent / 25 * 25)) % $what"
      [ "$percent" -lt 25 ] || [ "$reached" = "$last" ] || echo "Debian packages: $reached" || true
      last=$reached
    done
  }
  # Package lists are fetched only when there are none or they are too old to serve.
  install || {
    echo 'Debian packages: refreshing the package lists'
    apt-get update -q > "$log" 2>&1 && install
  } || {
    tail -n 15 "$log" >&2
    rm -f "$log" "$log.done"
    fail "apt-get could not install$missing" 'Its last lines are above.'
  }
  rm -f "$log" "$log.done"
  step 'Debian packages' "installed$missing" "$start"
fi

# --- npm packages -----------------------------------------------------------------------------------------------------------------
sh scripts/npm-packages.sh

# --- holder and root file systems -------------------------------------------------------------------------------------------------
PATH="$root/node_modules/.bin:$PATH"
export PATH
node scripts/web.ts
node scripts/docs.ts
node src/hosts/local/setup/main.ts "$@"

# --- the command ------------------------------------------------------------------------------------------------------------------
# npm puts folders of its own first on the path. The user's shell does not have them.
typed=$(PATH=$(printf '%s' "$PATH" | tr ':' '\n' | grep -v '/node_modules/\.bin$' | paste -s -d : -) && command -v labwright || true)
if [ "${npm_lifecycle_event:-}" = setup ] && [ -z "$typed" ]; then
  if [ "$uid" -eq 0 ]; then place=/usr/local/bin; else place=$HOME/.local/bin; fi
  echo "command: npm run labwright -- COMMAND, in this directory. To type labwright COMMAND anywhere: ln -s '$root/scripts/labwright' '$place/'"
fi

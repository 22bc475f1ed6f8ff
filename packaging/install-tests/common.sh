# Read by the other scripts here. They run as root in a fresh Debian that has lab.yaml, README.md's first lab, in /root.
set -eu
cd /root

step() { printf '  %s\n' "$1"; }
fail() {
  printf 'failed: %s\n' "$1" >&2
  exit 1
}

quiet_apt() {
  apt-get -q "$@" > /tmp/apt.log 2>&1 || {
    tail -n 30 /tmp/apt.log >&2
    fail "apt-get $*"
  }
}

no_compiler() { ! command -v cc > /dev/null || fail 'this Debian has a compiler: the test would not see that one is needed'; }

# The lab of README.md: h1 reaches r2 across r1.
run_lab() {
  labwright up lab.yaml
  labwright exec h1 -- ping -c 3 -W 5 10.0.0.2
}

# Two namespaces on a link shaped by netem. Run in a virtual machine by quality-netem.microvm.extended.test.ts, with a batch of tc for each step in /batches,
# the root file system of nodes at /image, and the steps' names as arguments. Prints "= STEP" before the output of each step.
mkdir /run/netns
mount -o bind /dev /image/dev
mount -t tmpfs tmpfs /image/tmp

for name in a fabric b; do ip netns add $name; done
fabric='ip netns exec fabric'
$fabric ip -batch - << EOF
link add name eth0 netns a up type veth peer name n1i0
link add name eth0 netns b up type veth peer name n2i0
link add name p3a up type veth peer name q3a gso_max_segs 1
link add name p3b up type veth peer name q3b gso_max_segs 1
EOF
for device in n1i0 n2i0 q3a q3b; do $fabric ip link set "$device" up; done
# Static neighbours: otherwise the first packet of a step would wait for ARP, which is delayed and lost like any other frame.
for end in a:1:b:2 b:2:a:1; do
  IFS=: read -r name own _ other << EOF
$end
EOF
  ip -n "$name" link set eth0 address "02:00:00:00:00:0$own"
  ip -n "$name" addr add "10.0.0.$own/24" dev eth0
  ip -n "$name" neigh replace "10.0.0.$other" lladdr "02:00:00:00:00:0$other" dev eth0 nud permanent
done
redirect() {
  $fabric tc qdisc add dev "$1" clsact
  $fabric tc filter replace dev "$1" ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev "$2"
}
redirect n1i0 q3a
redirect q3a n1i0
redirect n2i0 q3b
redirect q3b n2i0

a() { ip netns exec a chroot /image "$@"; }
b() { ip netns exec b chroot /image "$@"; }
change() { $fabric tc -batch "/batches/$1"; }
report() { echo "netem $($fabric tc -s -j qdisc show)"; }
# COUNT PRELOAD: PRELOAD packets are on their way, and each answer sends another. ping may lose answers that come at once: the counters of netem show what
# the link did.
pings() { a ping -q -f -c "$1" -l "$2" -W 5 10.0.0.2; }
# Prints the result of iperf3 on one line. Its server takes one client, may not listen yet, and is started again for the next try.
iperf() {
  while :; do
    b iperf3 -s -1 -D 2> /dev/null
    sleep 0.2
    a iperf3 -J -c 10.0.0.2 "$@" > /run/iperf && ! grep -q '"error"' /run/iperf && break
  done
  tr -d '\n' < /run/iperf
  echo
}

delay() {
  a ping -c 20 -i 0.05 10.0.0.2
  report
}
jitter() {
  a ping -c 60 -i 0.025 10.0.0.2
  echo 'close together'
  a ping -c 200 -i 0.002 10.0.0.2
}
loss() {
  report
  pings 10200 50
  report
}
tcp() { iperf -t 2.5 -O 1; }
udp() {
  a ping -c 10 -i 0.05 10.0.0.2
  iperf -R -u -l 1400 -b 15M -t 2
}
thousand() {
  report
  pings 1000 250
  report
}
changes() {
  change thousand
  report
  pings 3000 50 &
  for name in delay thousand delay none thousand none; do
    sleep 0.2
    change "$name"
  done
  wait
  report
}
drop() { /node/bin/node /repository/src/hosts/local/quality/quality-netem.fixture.ts /image; }

change attach
for step in "$@"; do
  [ ! -e "/batches/$step" ] || change "$step"
  echo "= $step"
  $step
done

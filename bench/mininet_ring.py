"""The same ring in mininet, through its own Python API: N hosts, N links, two addresses a host. Prints one JSON line."""

import glob
import json
import subprocess
import sys
import time

from mininet.log import setLogLevel
from mininet.net import Mininet


def pss_kib(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def main() -> None:
    count, pinger = int(sys.argv[1]), sys.argv[2]
    setLogLevel("error")
    pinger = subprocess.Popen([sys.executable, pinger], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)  # what runs the pings has started before the clock does, for every system
    begin = time.monotonic()
    net = Mininet(controller=None)
    hosts = [net.addHost(f"n{i}", ip=None) for i in range(count)]
    for i, host in enumerate(hosts):
        peer = hosts[(i + 1) % count]
        # A /30 per link: the first address on the left side, the second on the right.
        base = i * 4
        net.addLink(host, peer, intfName1=f"n{i}r", intfName2=f"n{(i + 1) % count}l")
        host.setIP(f"10.{base >> 16 & 255}.{base >> 8 & 255}.{(base & 255) + 1}", 30, f"n{i}r")
        peer.setIP(f"10.{base >> 16 & 255}.{base >> 8 & 255}.{(base & 255) + 2}", 30, f"n{(i + 1) % count}l")
    net.start()
    started = time.monotonic() - begin
    asked = "".join(
        f"{host.pid} 10.{i * 4 >> 16 & 255}.{i * 4 >> 8 & 255}.{(i * 4 & 255) + 2}\n" for i, host in enumerate(hosts)
    )
    pings = json.loads(pinger.communicate(asked)[0])
    usable = time.monotonic() - begin
    memory = sum(pss_kib(host.pid) for host in hosts) / count
    begin = time.monotonic()
    net.stop()
    stopped = time.monotonic() - begin
    print(json.dumps({"started": started, "usable": usable, "stopped": stopped, "pings": pings, "pss_kib": memory}))


main()

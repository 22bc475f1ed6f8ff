"""Pings from inside network namespaces, one process for all: reads "pid address" lines, enters each pid's network
namespace, sends ICMP echoes until one is answered (bounded), prints {"asked", "answered", "seconds"} as JSON. Where the first line is
a pid alone, the others name its children by their host names instead.

One tool for every system that is compared, so that its cost is the same for all.
"""

import ctypes
import json
import os
import select
import socket
import struct
import sys
import time

CLONE_NEWNET, CLONE_NEWUTS = 0x40000000, 0x04000000
TRIES, WAIT = 50, 0.1
libc = ctypes.CDLL(None, use_errno=True)


def checksum(data: bytes) -> int:
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def enter(pid: str, kind: str, flag: int) -> None:
    fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
    try:
        if libc.setns(fd, flag) != 0:
            raise OSError(ctypes.get_errno(), f"setns {pid}")
    finally:
        os.close(fd)


def by_host_name(parent: str) -> dict:
    found = {}
    with open(f"/proc/{parent}/task/{parent}/children") as children:
        for pid in children.read().split():
            enter(pid, "uts", CLONE_NEWUTS)
            found[socket.gethostname()] = pid
    return found


def ping(pid: str, address: str, number: int) -> bool:
    enter(pid, "net", CLONE_NEWNET)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock:
        for sequence in range(TRIES):
            head = struct.pack("!BBHHH", 8, 0, 0, number & 0xFFFF, sequence)
            packet = struct.pack("!BBHHH", 8, 0, checksum(head), number & 0xFFFF, sequence)
            try:
                sock.sendto(packet, (address, 0))
            except OSError:  # no route yet: the address is not there; ask again after the wait
                time.sleep(WAIT)
                continue
            deadline = time.monotonic() + WAIT
            while (left := deadline - time.monotonic()) > 0:
                if not select.select([sock], [], [], left)[0]:
                    break
                answer = sock.recv(256)
                if answer[20] == 0 and struct.unpack("!H", answer[24:26])[0] == number & 0xFFFF:
                    return True
    return False


def main() -> None:
    lines = [line.split() for line in sys.stdin if line.strip()]
    if lines and len(lines[0]) == 1:
        pids = by_host_name(lines[0][0])
        lines = [[pids[name], address] for name, address in lines[1:]]
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    begin = time.monotonic()
    answered = sum(ping(pid, address, i) for i, (pid, address) in enumerate(lines))
    seconds = time.monotonic() - begin
    libc.setns(home, CLONE_NEWNET)
    print(json.dumps({"asked": len(lines), "answered": answered, "seconds": round(seconds, 4)}))


main()

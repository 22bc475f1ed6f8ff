"""Two processes, in the net namespaces of the two given files: measures the link between 10.0.0.1 and 10.0.0.2 and prints JSON.

TCP for a second, round trips of single UDP packets, small UDP packets for half a second.
"""
import ctypes, json, os, select, socket, sys, time

libc = ctypes.CDLL(None, use_errno=True)

def enter(path):
    fd = os.open(path, os.O_RDONLY)
    if libc.setns(fd, 0x40000000) != 0: raise OSError(ctypes.get_errno(), "setns " + path)
    os.close(fd)

def far(path):
    enter(path)
    listener = socket.create_server(("10.0.0.2", 5001))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    udp.bind(("10.0.0.2", 5002))
    os.write(ready[1], b"r")
    while True:
        asked, _ = listener.accept()
        word = asked.recv(1)
        if word == b"t":
            room = bytearray(1 << 20)
            total = 0
            asked.setblocking(True)
            begin = time.perf_counter()
            while (got := asked.recv_into(room)) > 0: total += got
            took = time.perf_counter() - begin
            answer, _ = listener.accept()
            answer.sendall(json.dumps(total * 8 / took / 1e6).encode()); answer.close()
        elif word == b"e":
            asked.sendall(b"k")
            while True:
                data, who = udp.recvfrom(64)
                if data == b"end": break
                udp.sendto(data, who)
        elif word == b"p":
            asked.sendall(b"k")
            count = 0
            while select.select([udp, asked], [], [])[0] != [asked]:
                udp.recv(64); count += 1
            asked.sendall(json.dumps(count).encode())
        else: return
        asked.close()

def near(path):
    enter(path)
    def dial():
        return socket.create_connection(("10.0.0.2", 5001), 10)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.settimeout(2)
    udp.connect(("10.0.0.2", 5002))
    c = dial(); c.sendall(b"t")
    chunk = b"x" * (1 << 17)
    end = time.perf_counter() + 1
    while time.perf_counter() < end: c.sendall(chunk)
    c.close()
    c = dial(); rate = json.loads(c.recv(100)); c.close()

    c = dial(); c.sendall(b"e"); c.recv(1)
    trips = []
    for i in range(300):
        begin = time.perf_counter(); udp.send(b"ping"); udp.recv(64)
        trips.append((time.perf_counter() - begin) * 1e6)
        if sum(trips) > 2e6: break
    udp.send(b"end"); c.close()

    c = dial(); c.sendall(b"p"); c.recv(1)
    small = b"x" * 64
    begin = time.perf_counter(); end = begin + 0.5
    sent = 0
    while time.perf_counter() < end:
        for _ in range(64): udp.send(small)
        sent += 64
    took = time.perf_counter() - begin
    time.sleep(0.2)
    c.shutdown(socket.SHUT_WR); arrived = json.loads(c.recv(100)); c.close()
    c = dial(); c.sendall(b"q"); c.close()
    trips.sort()
    print(json.dumps({"rate": rate, "round_trip": trips[len(trips) // 2], "packets": arrived / took}))

ready = os.pipe()
child = os.fork()
if child == 0:
    os.close(ready[0])
    far(sys.argv[2])
    os._exit(0)
os.close(ready[1])
if os.read(ready[0], 1) != b"r": sys.exit("the far end did not start")
try: near(sys.argv[1])
except BaseException:
    os.kill(child, 9)
    raise
os.waitpid(child, 0)

"""Crowds for bench/run: `idle PORT N URL` connections that asked once and stay; `slow PORT N URL` readers that take a
little now and then. Prints how many there are when all have begun, and stays until it is killed."""
import resource, select, socket, sys, time

kind, port, number, url = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
request = f"GET {url} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
crowd = []
for i in range(number):
    s = socket.socket()
    if kind == "slow":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    # Beyond the 28000 ports of one address pair others begin.
    s.bind((f"127.0.0.{2 + i // 20000}", 0))
    s.connect(("127.0.0.1", port))
    s.sendall(request)
    if kind == "idle":
        s.recv(65536)
    crowd.append(s)
print(len(crowd), flush=True)
if kind == "idle":
    time.sleep(3600)
while True:  # about 8 kB/s each: a 1 MB file takes two minutes
    for s in crowd:
        try:
            s.recv(4096, socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass
    time.sleep(0.5)

"""Wires between network namespaces, with delay and loss for each pair: what `tc netem` does, for kernels without it.

Each namespace gets a TUN device with the address 10.77.N.1, N from 1 on. Packets between two of them are held for their one-way delay, and some are
dropped at random. Commands on standard input, one a line: `delay A B MILLISECONDS`, `loss A B PERCENT`, `cut A B`, `mend A B`, each for both
directions. Prints `ready`, and ends with its input.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
MTU = 1400
# Of packets that are held, for each pair and direction. A queue that is full drops, as that of a router does.
MAX_HELD = 2000

libc = ctypes.CDLL(None, use_errno=True)


def enter(path):
    with open(path) as namespace:
        if libc.setns(namespace.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def open_device(namespace, number):
    enter(f"/run/netns/{namespace}")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", b"region", IFF_TUN | IFF_NO_PI))
    for command in (
        f"addr add 10.77.{number}.1/16 dev region",
        f"link set region mtu {MTU} up",
        "link set lo up",
    ):
        subprocess.run(["ip", *command.split()], check=True)
    return device


def main(namespaces):
    own = "/proc/self/ns/net"
    with open(own) as home:
        devices = {}
        for number, namespace in enumerate(namespaces, start=1):
            devices[number] = open_device(namespace, number)
        if libc.setns(home.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    print("ready", flush=True)

    wires = {}
    held = []
    counts = {}
    order = 0
    number_of = {device: number for number, device in devices.items()}
    commands = b""
    while True:
        wait = max(0.0, held[0][0] - time.monotonic()) if held else None
        readable, _, _ = select.select([0, *devices.values()], [], [], wait)
        now = time.monotonic()
        while held and held[0][0] <= now:
            _, _, pair, packet = heapq.heappop(held)
            counts[pair] -= 1
            try:
                os.write(devices[pair[1]], packet)
            except OSError:
                pass  # the device has no room, so the packet is lost
        for source in readable:
            if source == 0:
                data = os.read(0, 65536)
                if not data:
                    return
                *lines, commands = (commands + data).split(b"\n")
                for line in lines:
                    name, a, b, *value = line.decode().split()
                    for pair in ((int(a), int(b)), (int(b), int(a))):
                        wire = wires.setdefault(pair, {"delay": 0.0, "loss": 0.0, "cut": False})
                        if name in ("cut", "mend"):
                            wire["cut"] = name == "cut"
                        else:
                            wire[name] = float(value[0]) / (1000 if name == "delay" else 100)
                continue
            for _ in range(64):
                try:
                    packet = os.read(source, 65536)
                except BlockingIOError:
                    break
                # IPv4: the third octet of the destination is the number of the namespace.
                if len(packet) < 20 or packet[0] >> 4 != 4:
                    continue
                pair = (number_of[source], packet[18])
                wire = wires.get(pair)
                if wire is None or wire["cut"] or random.random() < wire["loss"] or counts.get(pair, 0) >= MAX_HELD:
                    continue
                order += 1
                counts[pair] = counts.get(pair, 0) + 1
                heapq.heappush(held, (now + wire["delay"], order, pair, packet))


main(sys.argv[1:])

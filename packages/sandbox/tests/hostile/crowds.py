"""Processes and threads without end."""

from hostile.attack import Attack

PROCESSES = (
    Attack(name="forks until it cannot", code="while True: os.fork()", ends="exception"),
    Attack(
        name="forks a thousand times and goes on",
        code="""
made = [libc.fork() for _ in range(1000)]
print(set(made))
""",
        says="{-1}\n",
    ),
    Attack(
        name="makes threads until it cannot",
        code="""
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
""",
        ends="limit",
    ),
    Attack(
        name="makes threads that make threads",
        code="""
import _thread, time
def breed():
    while True:
        try:
            _thread.start_new_thread(breed, ())
        except RuntimeError:
            time.sleep(0.01)
breed()
""",
        ends="timeout",
        timeout_s=0.6,
    ),
    Attack(
        name="makes threads with large stacks",
        code="""
import threading, time
threading.stack_size(1 << 29)
for _ in range(50):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
""",
        ends="limit|memory",
    ),
    Attack(
        name="makes very many short threads",
        code="""
import threading
while True:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
""",
        ends="limit|timeout",
        timeout_s=1.0,
    ),
    Attack(
        name="leaves threads running for ever",
        hoards=True,
        code="""
import threading
ticks = [0]
def tick():
    while True:
        ticks[0] += 1
for _ in range(3):
    threading.Thread(target=tick).start()
""",
        then=(("import time; before = ticks[0]; time.sleep(0.05); print(ticks[0] == before)", "True\n"),),
    ),
    Attack(
        name="leaves a thread that writes files for ever",
        code="""
import threading, time
def write():
    number = 0
    while True:
        number += 1
        with open(f"thread{number % 20}", "w") as file:
            _ = file.write(str(number))
        os.remove(f"thread{(number * 7) % 20}") if os.path.exists(f"thread{(number * 7) % 20}") else None
for _ in range(3):
    threading.Thread(target=write, daemon=True).start()
time.sleep(0.05)
""",
        then=(
            (
                "import glob, time; a = {p: open(p).read() for p in glob.glob('thread*')}; time.sleep(0.05)\n"
                "print(a == {p: open(p).read() for p in glob.glob('thread*')})\n"
                "for p in a: os.remove(p)",
                "True\n",
            ),
        ),
    ),
    Attack(
        name="leaves threads that print for ever",
        code="""
import threading
def talk():
    while True:
        print("a")
for _ in range(3):
    threading.Thread(target=talk, daemon=True).start()
""",
        then=(("print('quiet')", "quiet\n"),),
    ),
    Attack(
        name="leaves threads that allocate and import for ever",
        code="""
import importlib, threading, json.tool
def work():
    while True:
        importlib.reload(json.tool)
        bytearray(1 << 16)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
""",
        then=(("import json.tool, wave; print(len(bytearray(1 << 16)))", "65536\n"),),
    ),
    Attack(
        name="burns processor time in threads",
        code="""
import hashlib, threading
def burn():
    while True:
        hashlib.sha256(bytes(1 << 20)).digest()
for _ in range(4):
    threading.Thread(target=burn).start()
burn()
""",
        ends="timeout",
        timeout_s=8.0,
    ),
)

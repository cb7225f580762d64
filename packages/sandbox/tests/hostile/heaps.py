# ruff: noqa: E501  The code of the attacks is data.
"""Files without end, and trees that are hard to remove."""

from hostile.attack import Attack

FILES = (
    Attack(
        name="fills the disk with one file",
        code="with open('big', 'wb') as file:\n    while True: file.write(bytes(1 << 20))",
        ends="limit",
    ),
    Attack(
        name="fills the disk with many files",
        code="for n in range(10**6):\n    with open(f'big{n}', 'wb') as file: file.write(bytes(1 << 21))",
        ends="limit",
        where="full",
    ),
    Attack(
        name="makes more files than it may",
        code="for n in range(10**6): open(f'small{n}', 'w').close()",
        ends="limit|timeout",
        timeout_s=2.0,
        where="full",
    ),
    Attack(
        name="makes more files than it may and stops",
        code="for n in range(1500): open(f'small{n}', 'w').close()",
        ends="limit|timeout",
    ),
    Attack(
        name="makes very many folders",
        code="for n in range(550): os.mkdir(f'folder{n}')",
        ends="ok|limit",
        then=(("import shutil\nfor n in range(550): os.path.exists(f'folder{n}') and os.rmdir(f'folder{n}')", ""),),
    ),
    Attack(name="makes very deep folders", code="for _ in range(300):\n    os.mkdir('d'); os.chdir('d')", ends="limit"),
    Attack(
        name="makes very deep folders and fails",
        code="for _ in range(300):\n    os.mkdir('d' * 200); os.chdir('d' * 200)\n1 / 0",
        ends="exception",
    ),
    Attack(
        name="makes wide and deep folders and fails",
        code="for a in range(10):\n  for b in range(10):\n    os.makedirs(f'a{a}/b{b}/c')\n    open(f'a{a}/b{b}/c/f', 'w').close()\nos.chmod('a1', 0)\n1 / 0",
        ends="exception",
    ),
    Attack(
        name="uses long and strange names",
        code="""
for name in ("x" * 255, "\\U0001F600" * 63, "a\\nb", " ", "-rf", "\\udc80\\udcff", "*", "..x", "con\\x01"):
    os.makedirs(name + "/sub/sub")
    open(name + "/sub/file", "w").close()
1 / 0
""",
        ends="exception",
    ),
    Attack(
        name="keeps long and strange names",
        code="""
names = ("x" * 255, "\\U0001F600" * 63, "a\\nb", " ", "-rf", "\\udc80\\udcff", "*", "..x", "con\\x01")
for name in names:
    os.makedirs(name + "/sub")
""",
        then=(("import shutil\nfor name in names: shutil.rmtree(name)\n1/1;", ""),),
    ),
    Attack(
        name="makes names that the clean-up might use",
        code="""
for top in ("a", "b"):
    os.makedirs(f"{top}/sub/sub")
    for n in range(5):
        for shape in (f"{top}.gone-{n}", f".gone-{n}", f"gone-{n}", f"{top}-{n}", f".{top}.{n}", f".sbx{n}", str(n)):
            if not os.path.exists(shape): open(shape, "w").close() if n % 2 else os.makedirs(shape + "/full")
1 / 0
""",
        ends="exception",
    ),
    Attack(name="makes a file of holes", code="with open('holes', 'wb') as file: file.truncate(1 << 50)", ends="limit"),
    Attack(
        name="makes many files of holes",
        code="for n in range(100):\n    with open(f'holes{n}', 'wb') as file: file.truncate(15 << 20)",
        ends="limit",
    ),
    Attack(
        name="makes hard links and link loops",
        code="""
for n in range(300): os.link("kept.txt", f"hard{n}")
os.symlink("loop", "loop")
os.symlink(".", "here")
with open("hard7", "w") as file: file.write("spoilt")
1 / 0
""",
        ends="exception",
    ),
    Attack(
        name="keeps files that are removed but open",
        hoards=True,
        code="""
with open("large", "wb") as file: file.write(bytes(4 << 20))
ghost = open("ghost", "w+")
os.remove("ghost")
""",
        then=(("os.path.getsize('large') and None", ""),),
    ),
    Attack(
        name="fills a removed file of the last run and fails",
        before="with open('large', 'wb') as file: _ = file.write(bytes([7]) * (6 << 20))\nghost = open('ghost', 'w+b')\nos.remove('ghost')",
        code="os.remove('large')\ntry:\n    while True: ghost.write(bytes(1 << 20)); ghost.flush()\nexcept OSError: pass\n1 / 0",
        ends="exception",
        then=(
            (
                "import hashlib; print(hashlib.sha256(open('large', 'rb').read()).hexdigest() == hashlib.sha256(bytes([7]) * (6 << 20)).hexdigest())",
                "True\n",
            ),
        ),
    ),
    Attack(
        name="opens files until it cannot", code="held = []\nwhile True: held.append(open('kept.txt'))", ends="limit"
    ),
    Attack(name="opens pipes until it cannot", code="while True: os.pipe()", ends="limit"),
    Attack(
        name="keeps as many descriptors as it can",
        code="held = []\ntry:\n    while True: held.append(os.dup(0))\nexcept OSError: pass\nos.close(held.pop()); os.close(held.pop()); os.close(held.pop()); os.close(held.pop())",
        then=(("[os.close(n) for n in held]; print(len(held) > 20)", "True\n"),),
    ),
    Attack(
        name="nests epolls",
        code="""
import select
first = select.epoll()
held = [first]
for _ in range(60):
    made = select.epoll()
    try: made.register(held[-1].fileno(), select.EPOLLIN)
    except OSError: break
    held.append(made)
for one in held: one.close()
""",
        ends="exception",
    ),
)

# ruff: noqa: E501  The code of the attacks is data.
"""Output and pictures without end."""

from hostile.attack import Attack

OUTPUT = (
    Attack(name="prints for ever", code="while True: print('x' * 10000)", ends="limit|timeout"),
    Attack(
        name="prints to standard error for ever",
        code="import sys\nwhile True: sys.stderr.write('y' * 10000)",
        ends="limit|timeout",
    ),
    Attack(name="prints forty megabytes at once", code="print('z' * (40 << 20))", ends="limit|ok|memory"),
    Attack(name="prints bytes that are no text", code="os.write(1, bytes(range(256)) * 1000)"),
    Attack(
        name="warns and logs for ever",
        code="import logging, warnings\nwhile True:\n    logging.error('e' * 1000); warnings.warn('w' * 1000)",
        ends="limit|timeout",
        timeout_s=1.0,
    ),
    Attack(
        name="makes a flood of figures",
        code="import matplotlib.pyplot as plt\nfor n in range(40):\n    plt.figure(figsize=(1, 1), dpi=20); plt.plot([n, 1])",
        ends="ok|timeout",
        timeout_s=20.0,
    ),
    Attack(
        name="makes a giant figure",
        code="import matplotlib.pyplot as plt\nplt.figure(figsize=(1e5, 1e5)); plt.plot([1, 2]); plt.show()",
    ),
    Attack(
        name="draws a figure that does not end",
        code="""
import matplotlib.pyplot as plt
class Slow(plt.Line2D):
    def draw(self, *_):
        while True: pass
plt.gca().add_line(Slow([0, 1], [0, 1]))
""",
        ends="timeout",
        timeout_s=0.5,
    ),
    Attack(
        name="shows giant images",
        code="from PIL import Image\nImage.new('1', (16000, 16000)).show()\nImage.new('L', (1 << 25, 1)).show()",
    ),
    Attack(
        name="makes images larger than memory",
        code="from PIL import Image\nImage.new('RGB', (100000, 100000))",
        ends="memory",
    ),
    Attack(
        name="shows more images than are returned",
        code="from PIL import Image\nfor n in range(200): Image.new('L', (64, 64), n).show()",
    ),
    Attack(
        name="shows more bytes than are returned",
        code="import numpy as np\nfrom PIL import Image\nfor n in range(12): Image.new('RGB', (1500, 1500), (n, 0, 0)).show()",
    ),
    Attack(
        name="saves a bomb as a picture",
        code="""
import struct, zlib
def chunk(kind, content): return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
head = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
squeezed = zlib.compress(bytes(1 << 22), 9)
with open("bomb.png", "wb") as file: file.write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", squeezed) + chunk(b"IEND", b""))
import PIL.Image
PIL.Image.MAX_IMAGE_PIXELS = None
""",
        then=(("os.remove('bomb.png')", ""),),
    ),
    Attack(
        name="saves broken pictures",
        code="""
import random
for n, suffix in enumerate(("png", "jpg", "gif", "tif", "bmp", "webp") * 20):
    heads = (b"\\x89PNG\\r\\n\\x1a\\n", b"\\xff\\xd8\\xff\\xe0", b"GIF89a", b"II*\\0", b"BM", b"RIFF\\xff\\xff\\xff\\xffWEBPVP8L")
    with open(f"broken{n}.{suffix}", "wb") as file: file.write(heads[n % 6] + random.randbytes(300))
""",
        then=(("import glob\nfor p in glob.glob('broken*'): os.remove(p)", ""),),
    ),
    Attack(
        name="saves pictures that are links, folders and pipes",
        code="""
os.symlink(target["secret"], "a.png"); os.symlink("/dev/zero", "b.png"); os.mkdir("c.png"); os.symlink("d.png", "d.png")
""",
        then=(("[os.remove(p) for p in ('a.png', 'b.png', 'd.png')]; os.rmdir('c.png')", None),),
    ),
    Attack(
        name="hides a nest of picture folders",
        code="""
for a in range(6):
    for b in range(6):
        os.makedirs(f"n/{a}.png/{b}.png")
        open(f"n/{a}.png/{b}.png/x.png", "wb").close()
import shutil; shutil.rmtree("n")
""",
    ),
)

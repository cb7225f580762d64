"""Processor time of pictures on their way between processes of a fleet: as PNG, and packed as they go.

    python benchmarks/picture_transport.py

Drawn scenes with crops of them, as tools make them, and pictures of noise on a slope, which stand for photographs.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image

from saccade.media.encode import png_bytes
from saccade.media.packed import packed, unpacked
from saccade.media.store import MediaStore
from saccade.tasks.procedural import generate

COUNT, REPEATS = 16, 5


def main() -> None:
    media = MediaStore()
    drawn = [
        media.get(generate("visual_search", split="train", index=index, seed=0, media=media).task.images[0])
        for index in range(COUNT)
    ]
    print("| pictures | as | encoded, ms each | decoded and hashed, ms each | bytes each |\n|---|---|---|---|---|")
    crops = [one.crop((16, 16, 112, 112)).resize((256, 256), Image.Resampling.BICUBIC) for one in drawn]
    for name, pictures in (("drawn, 256 px", drawn), ("crops, enlarged", crops), ("noise, 256 px", noisy())):
        for codec, encode, add in (("PNG", png_bytes, add_png), ("packed", packed, add_packed)):
            encoded = [encode(one) for one in pictures]
            size = sum(map(len, encoded)) // COUNT
            took = [per_picture_ms(encode, pictures), per_picture_ms(add, encoded)]
            print(f"| {name} | {codec} | {took[0]:.2f} | {took[1]:.2f} | {size:,} |")


def noisy() -> list[Image.Image]:
    chance = np.random.default_rng(0)
    slope = np.linspace(40, 200, 256)[None, :, None]
    return [
        Image.fromarray((slope + chance.normal(0, 6, (256, 256, 3))).clip(0, 255).astype(np.uint8))
        for _ in range(COUNT)
    ]


def add_png(raw: bytes) -> object:
    return MediaStore().add_encoded(raw, "a picture")


def add_packed(raw: bytes) -> object:
    return MediaStore().add(unpacked(raw, "a picture"))


def per_picture_ms(work: Callable[..., object], given: Sequence[object]) -> float:
    began_s = time.process_time()
    for _ in range(REPEATS):
        for one in given:
            work(one)
    return 1e3 * (time.process_time() - began_s) / (REPEATS * len(given))


if __name__ == "__main__":
    main()

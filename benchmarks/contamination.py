"""Whether copies of pictures are found by their look, and how many different pictures are taken for one.

    python benchmarks/contamination.py [--pictures 1000] [--gym | --photographs FOLDER] [--json FILE]

Drawn pictures of every family, and photographs of scikit-image and scikit-learn (examples/photos), whole and in tiles
that do not overlap, but for those of bare sky. Each is copied by JPEG of quality 75, in half its size, and with a
border; every copy is sought among all originals. With ``--gym`` the pictures are those of the gym's families, with
``--photographs`` those of a folder, whole and in tiles: none of either was there when the distance was chosen. Exit
status 1 when a copy is missed, or when more than one pair in 10,000 different pictures is taken for one.
"""

import argparse
import io
import json
import os
import random
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

import skimage
import sklearn
from PIL import Image, ImageOps, ImageStat

from saccade.evaluation.picture_likeness import MAX_DISTANCE, PicturePair, PictureViews, picture_pairs, views_of
from saccade.gym.registry import gym_families
from saccade.media.decode import MediaError, decode_image
from saccade.media.store import MediaStore
from saccade.tasks import FAMILIES, generate
from saccade.types import ImageRef, Json

TILE_PX = 160
LEAST_SPREAD = 12.0
"""Standard deviation of grey values: a tile of bare sky is no photograph."""
FOLDERS = (Path(skimage.__file__).parent / "data", Path(sklearn.__file__).parent / "datasets" / "images")
BORDERS = ("white", "black", (200, 30, 30))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gym", action="store_true", help="Pictures of the gym alone.")
    parser.add_argument("--photographs", type=Path, metavar="FOLDER", help="Photographs there alone.")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    media = MediaStore()
    if arguments.photographs:
        photographs, drawn = list(photographed(media, [arguments.photographs]))[: arguments.pictures], []
    else:
        photographs = [] if arguments.gym else list(photographed(media, FOLDERS))[: arguments.pictures // 2]
        families = sorted(gym_families() if arguments.gym else FAMILIES)
        drawn = list(drawn_pictures(media, families, arguments.pictures - len(photographs), arguments.seed))
    kinds = {image.hash: "photograph" for image in photographs} | {image.hash: family for image, family in drawn}
    originals = list({image.hash: image for image in [*photographs, *(image for image, _ in drawn)]}.values())
    views = {image.hash: views_of(media.get(image)) for image in originals}
    plain = sum(not found.hashes for found in views.values())
    chooser = random.Random(arguments.seed)
    found: Counter[str] = Counter()
    false: Counter[str] = Counter()
    missed: dict[str, list[str]] = {}
    for name, change in COPIES.items():
        copies = {image.hash: media.add(change(media.get(image), chooser)) for image in originals}
        source = {copy.hash: original for original, copy in copies.items()}
        views |= {copy.hash: views_of(media.get(copy)) for copy in copies.values()}
        pairs = [
            (source[pair.test.hash], pair.train.hash) for pair in pairs_of(originals, list(copies.values()), views)
        ]
        hit = {one for one, other in pairs if one == other}
        found[name] = sum(image.hash in hit for image in originals if views[image.hash].hashes)
        missed[name] = [image.hash for image in originals if views[image.hash].hashes and image.hash not in hit]
        false[name] = sum(one != other for one, other in pairs)
    among = sum(pair.test.hash < pair.train.hash for pair in pairs_of(originals, originals, views))
    told = len(originals) - plain
    different = told * (told - 1) // 2
    report: dict[str, Json] = {
        "pictures": len(originals),
        "drawn": len({image.hash for image, _ in drawn}),
        "photographs": len({image.hash for image in photographs}),
        "of_one_colour": plain,
        "max_distance_bits": MAX_DISTANCE,
        "found": {name: f"{found[name]} of {told}" for name in COPIES},
        "missed": {name: Counter(kinds[one] for one in missed[name]) for name in COPIES},
        "false_pairs_of_originals": f"{among} of {different}",
        "false_pairs_in_10000": round(10_000 * among / different, 3),
        "false_pairs_of_copies": {name: f"{false[name]} of {told * (told - 1)}" for name in COPIES},
        "processor_s": round(resource.getrusage(resource.RUSAGE_SELF).ru_utime, 1),
    }
    print(json.dumps(report, indent=1))
    if arguments.json:
        head = {"command": " ".join(sys.argv), "date": date.today().isoformat(), "cpus": os.cpu_count()}
        arguments.json.write_text(json.dumps({**head, **report}, indent=1) + "\n", encoding="utf-8")
    is_fine = not any(missed.values()) and among / different <= 1e-4
    sys.exit(0 if is_fine else 1)


def pairs_of(
    train: Sequence[ImageRef], test: Sequence[ImageRef], views: Mapping[str, PictureViews]
) -> Iterator[PicturePair]:
    hashes = {key: one.hashes for key, one in views.items()}
    return picture_pairs(train, test, hashes, cells={key: one.cells for key, one in views.items()})


def as_jpeg(picture: Image.Image, chooser: random.Random) -> Image.Image:
    del chooser
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=75)
    return Image.open(buffer).convert("RGB")


def halved(picture: Image.Image, chooser: random.Random) -> Image.Image:
    del chooser
    size = max(1, picture.width // 2), max(1, picture.height // 2)
    return picture.resize(size, Image.Resampling.BICUBIC)


def bordered(picture: Image.Image, chooser: random.Random) -> Image.Image:
    return ImageOps.expand(picture, border=chooser.randint(4, 24), fill=chooser.choice(BORDERS))


COPIES: dict[str, Callable[[Image.Image, random.Random], Image.Image]] = {
    "jpeg_75": as_jpeg,
    "half_size": halved,
    "border": bordered,
}


def photographed(media: MediaStore, folders: Sequence[Path]) -> Iterator[ImageRef]:
    """Every picture of the folders, whole and in tiles."""
    for path in sorted(path for folder in folders for path in folder.glob("*") if path.suffix in (".png", ".jpg")):
        try:
            picture = decode_image(path.read_bytes(), path.name)
        except MediaError:
            continue
        if min(picture.size) < TILE_PX:
            continue
        yield media.add(picture)
        for top in range(0, picture.height - TILE_PX + 1, TILE_PX):
            for left in range(0, picture.width - TILE_PX + 1, TILE_PX):
                tile = picture.crop((left, top, left + TILE_PX, top + TILE_PX))
                if ImageStat.Stat(tile.convert("L")).stddev[0] >= LEAST_SPREAD:
                    yield media.add(tile)


def drawn_pictures(media: MediaStore, families: Sequence[str], count: int, seed: int) -> Iterator[tuple[ImageRef, str]]:
    """The first pictures of every family's held-out questions, in turn, each with its family."""
    given: set[str] = set()
    index = 0
    while len(given) < count and index < 40 * count:
        name = families[index % len(families)]
        task = generate(
            name, split="held_out", index=index // len(families), seed=seed, media=media, difficulty=0.8
        ).task
        for image in task.images[:1]:
            if image.hash not in given:
                given.add(image.hash)
                yield image, name
        index += 1


if __name__ == "__main__":
    main()

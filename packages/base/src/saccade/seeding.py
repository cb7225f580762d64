"""Seeds that are hashes of labels, so that no two uses of chance ever share a stream."""

import hashlib
import struct

import numpy as np

Label = str | int


def seed_for(root: int, *labels: Label) -> int:
    """A 63-bit seed for the use of chance that the labels name; the same labels give the same seed everywhere.

    Labels are typed and length-prefixed before hashing, so ``("a", "b")``, ``("ab",)``, ``("1",)`` and ``(1,)``
    all differ.
    """
    digest = hashlib.blake2b(digest_size=8, person=b"saccade.seed")
    for label in (root, *labels):
        kind = b"i" if isinstance(label, int) else b"s"
        text = str(label).encode()
        digest.update(kind + struct.pack("<Q", len(text)) + text)
    return int.from_bytes(digest.digest(), "little") >> 1


def generator_for(root: int, *labels: Label) -> "np.random.Generator":
    """A NumPy generator seeded by ``seed_for``; PCG64, whose stream is stable across NumPy versions."""
    return np.random.Generator(np.random.PCG64(seed_for(root, *labels)))

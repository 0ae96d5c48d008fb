"""Bytes changed a little, as disks and networks change them; and text of the right words."""

import hashlib
import json
import re

#: What LETOR text is made of, and what looks like it.
LETOR_TOKENS = [
    *(b" ", b" ", b" ", b"\n", b"\n", b"\t", b"\r\n", b"\r", b"\0", b"#", b":", b"-", b"+", b"."),
    *(b"qid:", b"qid:1", b"qid:-7", b"qid:9223372036854775808", b"qid:1.5", b"QID:2", b"qid"),
    *(b"0", b"1", b"2", b"1:", b":1", b"1:1", b"2:0.5", b"3:nan", b"4:inf", b"5:-inf", b"6:NULL"),
    *(b"7:1e400", b"8:1e-400", b"9:5e-324", b"0:1", b"51:1", b"99999999999:1", b"-1:1", b"1:1:1"),
    *(b"1e", b"0x1p3", b"1_000", b"infinity", b"1." + b"0" * 30, b"1" * 40, b"." + b"9" * 25),
    *(b"0.1e-310", b"1:" + b"12345678901234567890" * 2, b"# docid = a", b"\xef\xbb\xbf", b"\xff"),
    b"1 qid:1 1:0.5 2:3 # docid = GX1\n",
    b"2 qid:1 1:1e-5\n",
]


def mutate(data, rng):
    """Return bytes with a few changes: flips, cuts, repeats, swaps, noise."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at, length = int(rng.integers(len(changed) + 1)), int(rng.integers(1, 40))
        kind = rng.integers(6)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del changed[at : at + length]
        elif kind == 2:
            changed[at:at] = changed[at : at + length]
        elif kind == 3:
            changed[at:at] = rng.bytes(length)
        elif kind == 4:
            del changed[at:]
        elif at < len(changed):
            changed[at] = int(rng.integers(256))
    return bytes(changed)


def sealed(model, ours):
    """Return a model file with other metadata under a checksum that fits."""
    return sealed_bytes(model, json.dumps(ours).encode())


def sealed_bytes(model, ours):
    """Return a model file with other bytes as metadata, under a checksum that fits."""
    zeros = b"0" * 64
    head = ours.rstrip().removesuffix(b"}")
    line = b"[gbrank: ]: " + head + b', "checksum": "sha256:' + zeros + b'"}\n'
    # a function, so that backslashes of the line stay as they are
    text = re.sub(rb"\[gbrank: .*\n", lambda _: line, model)
    return text.replace(zeros, hashlib.sha256(text).hexdigest().encode())

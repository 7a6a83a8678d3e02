"""Saved models whose parts were changed and sealed again, as an attacker would."""

import hashlib
import json


def parts_of(content):
    """Return the manifest, the nodes and the arrays of a file as bytes."""
    line = content.index(b"\n") + 1
    _, _, manifest, nodes, arrays, _ = content[:line].split()
    ends = line + int(manifest), line + int(manifest) + int(nodes), len(content) - 64
    return {
        "manifest": content[line : ends[0]],
        "nodes": content[ends[0] : ends[1]],
        "arrays": content[ends[2] - int(arrays) : ends[2]],
    }


def joined(manifest, nodes, arrays, version=b"1.0", sizes=None, digest=None):
    """Return a file with a good SHA-256 made of any parts."""
    sizes = b"%d %d %d" % (len(manifest), len(nodes), len(arrays)) if sizes is None else sizes
    digest = hashlib.sha256(manifest).hexdigest().encode() if digest is None else digest
    start = b"similitude %s %s %s\n" % (version, sizes, digest) + manifest + nodes
    return sealed(start + b" " * (-len(start) % 64) + arrays + bytes(64))


def forged(content, change):
    """Return a file with a good SHA-256 in which the parts were changed."""
    parts = parts_of(content)
    change(parts)
    return joined(**parts)


def with_tree(content, change):
    """Return a file with a good SHA-256 in which the JSON of the model was changed."""

    def changed(parts):
        tree = json.loads(parts["nodes"])
        change(tree)
        parts["nodes"] = json.dumps(tree).encode()

    return forged(content, changed)


def sealed(content):
    """Return a file with a good SHA-256."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()

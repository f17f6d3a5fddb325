#!/usr/bin/env python3
"""Licences and known advisories of every crate in Cargo.lock, without a network.

Licences: each crate must offer at least one choice out of ALLOWED, for every part joined by AND.
Advisories: FIXED_IN names, for crates that ever had a security advisory in their present line, the
first version that is free of all of them (RustSec, as of 2026-08-21). A crate that is new in the
tree should be looked up there and added here.
"""
import json
import re
import subprocess
import sys

ALLOWED = {
    "MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unicode-3.0", "Unlicense",
    "0BSD", "MIT-0", "CC0-1.0", "BSL-1.0", "Apache-2.0 WITH LLVM-exception", "CDLA-Permissive-2.0",
}
# Never in the tree, whatever their version: a second TLS stack, or a licence that does not fit.
BANNED = {"openssl-sys", "native-tls", "aws-lc-sys", "cmake"}
# evalexpr is AGPL from version 12 on; 11.3 is MIT and a test oracle.
CEILING = {"evalexpr": (12, 0, 0)}
FIXED_IN = {
    "anstream": "0.6.8", "bytes": "1.11.1", "chrono": "0.4.20", "crossbeam-deque": "0.8.1",
    "crossbeam-epoch": "0.9.20", "crossbeam-utils": "0.8.7", "enumflags2": "0.7.7",
    "futures-task": "0.3.6", "futures-util": "0.3.7", "generic-array": "0.13.3", "h2": "0.4.16",
    "http": "0.1.20", "hyper": "0.14.12", "iana-time-zone": "0.1.45", "idna": "1.0.0",
    "libsqlite3-sys": "0.25.1", "lock_api": "0.4.2", "memmap2": "0.9.11", "mio": "0.8.11",
    "rand": "0.10.1", "rand_core": "0.6.2", "regex": "1.5.5", "ring": "0.17.12",
    "rusqlite": "0.26.2", "rustls": "0.23.18", "rustls-webpki": "0.103.13", "serde_yaml": "0.8.4",
    "sha2": "0.9.8", "shlex": "1.3.0", "slab": "0.4.11", "smallvec": "1.6.1", "socket2": "0.3.16",
    "thread_local": "1.1.4", "time": "0.3.47", "tokio": "1.44.2", "tokio-rustls": "0.13.1",
    "tower-http": "0.2.1", "tracing": "0.1.40", "tracing-subscriber": "0.3.20",
    "unsafe-libyaml": "0.2.10", "zerocopy": "0.7.31", "zerovec": "0.10.4",
    "zerovec-derive": "0.10.3", "zlib-rs": "0.4.0",
}


def version(text):
    return tuple(int(part) for part in re.match(r"(\d+)\.(\d+)\.(\d+)", text).groups())


def allowed(expression):
    """Whether an SPDX expression leaves a choice that is allowed."""
    text = expression.strip()
    while text.startswith("(") and text.endswith(")") and balanced(text[1:-1]):
        text = text[1:-1].strip()
    for joiner, rule in ((" AND ", all), (" OR ", any), ("/", any)):
        parts = split(text, joiner)
        if len(parts) > 1:
            return rule(allowed(part) for part in parts)
    return text in ALLOWED


def balanced(text):
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0


def split(text, joiner):
    parts, depth, start, i = [], 0, 0, 0
    while i < len(text):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0 and text.startswith(joiner, i):
            parts.append(text[start:i])
            i += len(joiner)
            start = i
            continue
        i += 1
    return parts + [text[start:]]


def main():
    command = ["cargo", "metadata", "--offline", "--locked", "--format-version", "1",
               "--filter-platform", "x86_64-unknown-linux-gnu"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["packages"]
    problems = []
    for package in packages:
        name, number = package["name"], package["version"]
        if not allowed(package["license"] or ""):
            problems.append(f"{name} {number}: licence {package['license']!r} is not allowed")
        if name in BANNED:
            problems.append(f"{name} {number}: not wanted in the tree")
        if name in CEILING and version(number) >= CEILING[name]:
            problems.append(f"{name} {number}: from {CEILING[name]} on its licence does not fit")
        if name in FIXED_IN and version(number) < version(FIXED_IN[name]):
            problems.append(f"{name} {number}: has an advisory, fixed in {FIXED_IN[name]}")
    for problem in problems:
        print(problem)
    print(f"{len(packages)} crates looked at, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

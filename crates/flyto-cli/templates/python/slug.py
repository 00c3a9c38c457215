#!/usr/bin/env python3
"""Turns a title into a slug.

The input comes as a JSON object on stdin and the result goes to stdout; when something is wrong, a
message goes to stderr and the exit code is not 0.
"""

import json
import re
import sys
import unicodedata


def slug(text):
    # Letters lose their accents: "Crème" becomes "creme".
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub("[^a-z0-9]+", "-", plain.lower()).strip("-")


def main():
    args = json.load(sys.stdin.buffer)
    result = slug(args["text"])
    if not result:
        sys.exit("the text has no letter or digit")
    print(result)


if __name__ == "__main__":
    main()

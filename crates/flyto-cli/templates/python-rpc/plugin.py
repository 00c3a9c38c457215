#!/usr/bin/env python3
"""Tools that are called by JSON-RPC: a request is a line on stdin, its reply a line on stdout.

    {"jsonrpc": "2.0", "id": 1, "method": "execute", "params": {"tool": "slug", "args": {…}}}
    {"jsonrpc": "2.0", "id": 1, "result": {"output": "…"}}
    {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "…"}}

Each call runs in a thread of its own, so replies come in any order. At the end of input the program
ends when its calls have. So it serves both lifetimes: a process for each call, and one for all.
"""

import json
import re
import sys
import threading
import unicodedata

# JSON-RPC's own codes; those of the tools are positive.
UNKNOWN = -32601
FAILED = 1
CANCELLED = 2

writing = threading.Lock()


def send(message):
    line = json.dumps({"jsonrpc": "2.0", **message})
    with writing:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class Failed(Exception):
    """What the caller is told: a message and a code."""

    def __init__(self, message, code=FAILED):
        super().__init__(message)
        self.code = code


class Call:
    """One call that is running."""

    def __init__(self, id):
        self.id = id
        self.cancelled = threading.Event()

    def progress(self, share, detail):
        """Tells how far the call is, from 0 to 1."""
        send({"method": "progress", "params": {"id": self.id, "progress": share, "detail": detail}})

    def sleep(self, seconds):
        """Waits, but not for a call that was taken back."""
        if self.cancelled.wait(seconds):
            raise Failed("cancelled", CANCELLED)


# ---- the tools ----


def slug(call, args):
    # Letters lose their accents: "Crème" becomes "creme".
    plain = unicodedata.normalize("NFKD", args["text"]).encode("ascii", "ignore").decode()
    result = re.sub("[^a-z0-9]+", "-", plain.lower()).strip("-")
    if not result:
        raise Failed("the text has no letter or digit")
    return result


def wait(call, args):
    seconds = args["seconds"]
    for step in range(10):
        call.progress(step / 10, f"step {step} of 10")
        call.sleep(seconds / 10)
    return f"waited for {seconds:g} s"


TOOLS = {"slug": slug, "wait": wait}

# ---- the protocol ----


def run(call, params):
    try:
        tool = TOOLS.get(params["tool"])
        if tool is None:
            raise Failed(f"there is no tool {params['tool']}", UNKNOWN)
        reply = {"result": {"output": tool(call, params["args"])}}
    except Failed as err:
        reply = {"error": {"code": err.code, "message": str(err)}}
    except Exception as err:
        reply = {"error": {"code": FAILED, "message": f"{type(err).__name__}: {err}"}}
    calls.pop(call.id, None)
    send({"id": call.id, **reply})


calls = {}


def main():
    for line in sys.stdin.buffer:
        message = json.loads(line)
        params = message.get("params", {})
        if message.get("method") == "execute":
            call = calls[message["id"]] = Call(message["id"])
            threading.Thread(target=run, args=(call, params)).start()
        elif message.get("method") == "cancel" and params["id"] in calls:
            calls[params["id"]].cancelled.set()
        elif "id" in message:
            # Also what shows that the program is at work: a ping after a deadline.
            error = {"code": UNKNOWN, "message": "there is no such method"}
            send({"id": message["id"], "error": error})


if __name__ == "__main__":
    main()

"""A little server with one behaviour a mode, for the tests of the client. Modes are words of the command line."""

import json
import os
import sys
import time

MODES = sys.argv[1:]
MODERN = "2026-07-28"


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(id, result):
    if "modern" in MODES:
        result = {"resultType": "complete", **result}
    send({"jsonrpc": "2.0", "id": id, "result": result})


def fail(id, code, message):
    send({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})


def text(*texts, **more):
    return {"content": [{"type": "text", "text": it} for it in texts], **more}


def tool(name, description="", schema=None, **more):
    schema = schema or {"type": "object"}
    return {"name": name, "description": description, "inputSchema": schema, **more}


def tools():
    if "many" in MODES:
        return [tool(f"t{it}") for it in range(2000)]
    res = [
        tool("echo", "Says it again.", {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        }),
        tool("add", "Adds.", outputSchema={
            "type": "object",
            "properties": {"sum": {"type": "number"}},
            "required": ["sum"],
        }, annotations={"readOnlyHint": True, "destructiveHint": False}),
        tool("two words"),
        tool("environment"),
        tool("pid"),
        tool("meets"),
        tool("steps"),
        tool("never"),
        tool("stuck"),
        tool("dies"),
        tool("floods"),
        tool("oversize"),
        tool("endless_line"),
        tool("long"),
        tool("twice"),
        tool("wrong_ids"),
        tool("refuses"),
        tool("breaks_schema", outputSchema={"type": "object", "required": ["sum"]}),
        tool("image"),
        tool("asks"),
        tool("cancelled"),
        tool("change"),
        tool("forgets"),
        tool("breaks_off"),
        tool("null"),
        tool("odd_error"),
        tool("chatters"),
    ]
    if "deep" in MODES:
        schema = {"type": "object"}
        for _ in range(70):
            schema = {"type": "object", "properties": {"x": schema}}
        res.append(tool("deep", schema=schema))
    if "far" in MODES:
        res.append(tool("far", schema={"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:1/x"}}}))
    path = os.environ.get("DEFINITIONS")
    if path and os.path.exists(path):
        with open(path) as file:
            changes = json.load(file)
        res = [{**it, **changes[it["name"]]} if it["name"] in changes else it for it in res]
        names = [it["name"] for it in res]
        res += [it for name, it in changes.items() if name not in names]
    return res


cancelled = []
met = []
# Requests of ours, and what is to be done with their answers.
asked = {}


def call(id, params):
    name, args = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if name == "echo":
        answer(id, text(args["text"]))
    elif name == "add":
        total = args.get("a", 0) + args.get("b", 0)
        answer(id, text(str(total), structuredContent={"sum": total}))
    elif name == "two words":
        answer(id, text("heard"))
    elif name == "environment":
        answer(id, text("\n".join(sorted(os.environ)) + "\n" + os.getcwd()))
    elif name == "pid":
        answer(id, text(str(os.getpid())))
    elif name == "steps":
        for at in range(1, 4):
            note = {"progressToken": token, "progress": at, "total": 4, "message": f"step {at}"}
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": note})
        # The last note has to be heard before the answer: it waits for a request of the client.
        answer(id, text("done"))
    elif name == "never":
        pass
    elif name == "meets":
        met.append(id)
        if len(met) == args["of"]:
            for it in met:
                answer(it, text("met"))
    elif name == "stuck":
        while True:
            time.sleep(1000)
    elif name == "dies":
        sys.stderr.write("first line\nout of cheese\n")
        sys.stderr.flush()
        os._exit(3)
    elif name == "floods":
        try:
            while True:
                sys.stdout.write("no message\n" * 1000)
        except BrokenPipeError:
            os._exit(0)
    elif name == "endless_line":
        try:
            while True:
                sys.stdout.write("x" * 65536)
        except BrokenPipeError:
            os._exit(0)
    elif name == "long":
        answer(id, text("a" + "x" * (9 << 20) + "z"))
    elif name == "oversize":
        answer(id, text("x" * (1 << 19)))
    elif name == "twice":
        answer(id, text("first"))
        answer(id, text("second"))
    elif name == "wrong_ids":
        answer(id + 1000, text("of no call"))
        answer(str(id), text("of no call"))
        answer(id, text("right"))
    elif name == "null":
        send({"jsonrpc": "2.0", "id": id, "result": None})
    elif name == "odd_error":
        send({"jsonrpc": "2.0", "id": id, "error": {"code": "x", "message": 5}})
    elif name == "chatters":
        answer(id, text("one moment"))
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}) + "\n"
        piece = line * 1000
        n_bytes = 0
        while n_bytes < int(args["bytes"]):
            n_bytes += sys.stdout.write(piece)
        sys.stdout.flush()
    elif name == "refuses":
        fail(id, -32602, "not today")
    elif name == "breaks_schema":
        answer(id, text("x", structuredContent={"total": 1}))
    elif name == "image":
        block = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
        answer(id, {"content": [block]})
    elif name == "asks":
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        question = {"mode": "form", "message": "Which name?", "requestedSchema": form}
        if "modern" not in MODES:
            asked["q"] = lambda result: answer(id, text(json.dumps(result)))
            send({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": question})
        elif "inputResponses" in params:
            state = params["requestState"]
            answer(id, text(f"{json.dumps(params['inputResponses']['k'])} {state}"))
        else:
            request = {"method": "elicitation/create", "params": question}
            send({"jsonrpc": "2.0", "id": id, "result": {
                "resultType": "input_required", "inputRequests": {"k": request}, "requestState": "s1",
            }})
    elif name == "cancelled":
        answer(id, text(json.dumps(cancelled)))
    elif name == "change":
        with open(os.environ["DEFINITIONS"], "w") as file:
            file.write(args["definitions"])
        note = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        if "modern" in MODES:
            note["params"] = {"_meta": {"io.modelcontextprotocol/subscriptionId": asked["listen"]}}
        send(note)
        answer(id, text("changed"))
    else:
        fail(id, -32602, f"unknown tool {name}")


CAPABILITIES = {"tools": {"listChanged": True}}
INFO = {"name": "little", "version": "1.2"}


def handle(message):
    if "LOG" in os.environ:
        with open(os.environ["LOG"], "a") as file:
            file.write(message.get("method", "answer") + "\n")
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method is None:
        asked.pop(id, lambda _: None)(message.get("result"))
    elif method == "server/discover" and "late" in MODES and "discover" not in asked:
        # As a server of the new era that takes long to load: by then there is a handshake as well.
        asked["discover"] = message
    elif method == "initialize" and "late" in MODES:
        fail(id, -32022, "the handshake is not accepted")
        handle(asked["discover"])
    elif method == "server/discover" and "modern" in MODES:
        meta = {"io.modelcontextprotocol/serverInfo": INFO}
        answer(id, {"supportedVersions": [MODERN], "capabilities": CAPABILITIES, "_meta": meta})
    elif method == "server/discover" and "exits" in MODES:
        sys.exit("unknown method")
    elif method == "server/discover" and "silent" in MODES:
        pass
    elif method == "initialize" and "modern" not in MODES:
        version = "1999-01-01" if "old" in MODES else params["protocolVersion"]
        answer(id, {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": INFO})
    elif method == "tools/list":
        if "huge" in MODES:
            page = [tool(f"t{params.get('cursor', '')}{it}", "x" * 100_000) for it in range(2)]
            answer(id, {"tools": page, "nextCursor": params.get("cursor", "") + "n"})
            return
        if "pages" in MODES:
            answer(id, {"tools": [], "nextCursor": params.get("cursor", "") + "n"})
            return
        if "endless" in MODES:
            answer(id, {"tools": [tool("a")], "nextCursor": "again"})
            return
        all = tools()
        at = int(params.get("cursor", "0"))
        page = {"tools": all[at:at + 500], "ttlMs": 0, "cacheScope": "private"}
        if at + 500 < len(all):
            page["nextCursor"] = str(at + 500)
        answer(id, page)
    elif method == "tools/call":
        call(id, params)
    elif method == "ping":
        answer(id, {})
    elif method == "subscriptions/listen" and "modern" in MODES:
        asked["listen"] = id
        send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"})
    elif method == "notifications/cancelled":
        cancelled.append(params["requestId"])
    elif id is not None:
        fail(id, -32601, "unknown method")


def main():
    if "dies" in MODES:
        sys.exit("no database")
    if "deaf" in MODES:
        time.sleep(1000)
    if "slow" in MODES:
        time.sleep(1.5)
    for line in sys.stdin:
        handle(json.loads(line))
    if "stays" in MODES:
        time.sleep(1000)


if __name__ == "__main__":
    main()

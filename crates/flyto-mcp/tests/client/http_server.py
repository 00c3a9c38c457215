"""The little server behind an address. Its first line is its port.

Modes beside those of the little server: `stream` answers with streams of events, and has one for what it says by itself;
`redirects` answers nothing else than where to go; `page` and `gzip` answer what holds no messages.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import server

MODES = server.MODES
MODERN = "modern" in MODES
STREAM = "stream" in MODES
SESSION = "Mcp-Session-Id"

lock = threading.RLock()
sessions = set()
# Requests that are not answered yet, each with its response; and the streams of what is said unasked.
waiting = {}
listeners = []
current = threading.local()


class Reply:
    """A response to one request."""

    def __init__(self, handler):
        self.handler, self.done = handler, threading.Event()

    def begin(self):
        self.handler.begin(200, "text/event-stream")

    def event(self, message):
        try:
            self.handler.wfile.write(b"event: message\r\ndata: " + json.dumps(message).encode() + b"\r\n\r\n")
            self.handler.wfile.flush()
        except OSError:
            self.done.set()

    def send(self, message):
        if STREAM:
            self.event(message)
        elif "method" not in message:
            self.handler.whole(200, message)
        if "method" not in message:
            self.done.set()


def send(message):
    with lock:
        if "method" not in message:
            reply = waiting.pop(message["id"], None)
            if reply:
                reply.send(message)
        elif message["method"] == "notifications/tools/list_changed" and not MODERN:
            for it in listeners:
                it.event(message)
        elif message["method"].startswith("notifications/tools") and "listen" in server.asked:
            waiting[server.asked["listen"]].event(message)
        else:
            current.reply.send(message)


server.send = send


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def begin(self, status, kind, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if getattr(self, "opened", None):
            self.send_header(SESSION, self.opened)
        self.end_headers()

    def whole(self, status, message, **headers):
        self.begin(status, "application/json", **headers)
        if message is not None:
            self.wfile.write(json.dumps(message).encode())

    def refused(self, method):
        """Whether the request was refused for its headers."""
        if "redirects" in MODES:
            self.whole(307, None, Location="http://localhost:1/")
        elif "page" in MODES:
            self.begin(200, "text/html; charset=utf-8")
            self.wfile.write(b"<p>Sign in</p>")
        elif "gzip" in MODES:
            self.whole(200, None, Content_Encoding="gzip")
        elif self.path != "/mcp":
            self.whole(404, None)
        elif self.headers.get("Authorization") != "Bearer s3cret":
            self.whole(401, None)
        elif MODERN and self.headers.get("MCP-Protocol-Version") != server.MODERN:
            self.whole(400, None)
        elif MODERN or method in ("server/discover", "initialize"):
            return False
        elif self.headers.get(SESSION) is None:
            self.whole(400, None)
        elif self.headers.get(SESSION) not in sessions:
            self.whole(404, None)
        else:
            return False
        return True

    def do_GET(self):
        if self.refused("GET"):
            return
        if not STREAM or MODERN:
            self.whole(405, None)
            return
        reply = Reply(self)
        reply.begin()
        with lock:
            listeners.append(reply)
        reply.done.wait()

    def do_DELETE(self):
        if not self.refused("DELETE"):
            sessions.discard(self.headers.get(SESSION))
            self.whole(204, None)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, id = message.get("method"), message.get("id")
        if self.refused(method):
            return
        if MODERN and (self.headers.get("Mcp-Method") != method or
                       self.headers.get("Mcp-Name") != message.get("params", {}).get("name")):
            self.whole(400, {"jsonrpc": "2.0", "id": id, "error": {"code": -32020, "message": "header mismatch"}})
            return
        if method == "initialize":
            self.opened = os.urandom(8).hex()
            sessions.add(self.opened)
        current.reply = reply = Reply(self)
        if id is None or method is None:
            with lock:
                server.handle(message)
            self.whole(202, None)
            return
        with lock:
            waiting[id] = reply
            if STREAM:
                reply.begin()
            name = message.get("params", {}).get("name")
            if method == "tools/call" and name == "forgets":
                sessions.clear()
                server.answer(id, server.text("forgotten"))
            elif method == "tools/call" and name == "breaks_off":
                return
            else:
                server.handle(message)
        reply.done.wait()


listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
listener.daemon_threads = True
print(listener.server_address[1], flush=True)
listener.serve_forever()

"""A server of TLS that serves several names, and clients of it: honest ones, and such as change the name on the way.

Prints the server's port, then one line for each client: what comes of it on the direct way and through the proxy,
whose port is the argument, with the names that the server has seen.
"""

import os, queue, socket, ssl, sys, tempfile, threading

TIMEOUT = 30
PROXY = int(sys.argv[1])
RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")

# Made for this test.
PEM = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgva7GjFveGRfZn7Oa
2mAi9ZEV6Jrueycx+AnSPtaud1qhRANCAAREpWbMXw6Fup/uODnJ3X5F7cljhDbn
IfVoPSgbKEwn6v3YOeFKLk/Eo9EGX3ajhVwmmDLIsZ+6KRgntpJ7U5HT
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBgDCCASegAwIBAgIUCJwJs8CFXsrRGeN8Pu/P7WVamVYwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKZmx5dG8tdGVzdDAgFw0yNjExMjIxMTUxMzZaGA8yMTI2MTAy
OTExNTEzNlowFTETMBEGA1UEAwwKZmx5dG8tdGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABESlZsxfDoW6n+44OcndfkXtyWOENuch9Wg9KBsoTCfq/dg54Uou
T8Sj0QZfdqOFXCaYMsixn7opGCe2kntTkdOjUzBRMB0GA1UdDgQWBBR1skUi4Md4
HSLab4pKfZq5h6UogjAfBgNVHSMEGDAWgBR1skUi4Md4HSLab4pKfZq5h6UogjAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIHKOQ4uHZG469kGLV/nc
7vC0Kos+k9fWRMys9NXv9wsNAiAcyvvDmiBU94poiEkVj77QnwzTKR2iaB13D3Gf
9IpwIw==
-----END CERTIFICATE-----
"""

# The generator of P-384 (FIPS 186-4, D.1.2.4): the public key that belongs to the private key 1.
POINT = bytes.fromhex(
    "04"
    "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7"
    "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f"
)


def serve(listener, ended):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w") as pem:
        pem.write(PEM)
        pem.flush()
        context.load_cert_chain(pem.name)
    # Clients begin with a key of another group, and are asked for one of this.
    context.set_ecdh_curve("secp384r1")
    # SHA-1, which is all that a client without extensions takes.
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    names = []
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    while True:
        stream, _ = listener.accept()
        stream.settimeout(TIMEOUT)
        try:
            with context.wrap_socket(stream, server_side=True) as tls:
                while data := tls.recv(65536):
                    tls.sendall(data)
        except OSError:
            pass
        ended.put([str(it) for it in names])
        names.clear()


def connect(port):
    stream = socket.create_connection(("127.0.0.1", port), TIMEOUT)
    if port == PROXY:
        stream.sendall(b"CONNECT a.org:443 HTTP/1.1\r\n\r\n")
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += stream.recv(1)
    return stream


def exact(stream, n):
    data = b""
    while len(data) < n:
        part = stream.recv(n - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def client_context(version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = version
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    return context


def honest(port, context, sessions):
    """Finishes a handshake, with the session before where there is one, and has records echoed."""
    data = os.urandom(1 << 14)
    with context.wrap_socket(
        connect(port), server_hostname="a.org", session=sessions.get(port)
    ) as tls:
        for _ in range(20):
            tls.sendall(data)
            if exact(tls, len(data)) != data:
                return "other data"
        sessions[port] = tls.session
        return f"{tls.version()}, {'resumed' if tls.session_reused else 'new'}"


def long(data):
    return len(data).to_bytes(2, "big") + data


def extension(kind, data):
    return kind.to_bytes(2, "big") + long(data)


def record(data, kind=22):
    return bytes([kind, 3, 1]) + long(data)


def split(data):
    return b"".join(record(data[at : at + 1]) for at in range(len(data)))


RANDOM = os.urandom(32)


def hello(name, share, more=b""):
    """A ClientHello of TLS 1.3."""
    key = b"\0\x1d" + long(RANDOM) if share == "x25519" else b"\0\x18" + long(POINT)
    extensions = [
        extension(0, long(b"\0" + long(name.encode()))),
        extension(10, long(b"\0\x1d\0\x18")),
        extension(13, long(b"\x04\x03")),
        extension(43, b"\x02\x03\x04"),
        extension(51, long(key)),
        more,
    ]
    body = b"\x03\x03" + RANDOM + b"\x20" + RANDOM + long(b"\x13\x01") + b"\1\0" + long(b"".join(extensions))
    return b"\1" + len(body).to_bytes(3, "big") + body


def raw(port, flights):
    """Sends the first flight, and the second one after a HelloRetryRequest."""
    with connect(port) as stream:
        stream.sendall(flights[0])
        flights = flights[1:]
        try:
            while True:
                kind, _, _, *length = exact(stream, 5)
                content = exact(stream, int.from_bytes(bytes(length), "big"))
                if kind == 21:
                    return f"alert {content[1]}"
                if kind == 22 and content[0] == 2 and content[6:38] != RETRY:
                    return "served"
                if kind == 22 and flights:
                    stream.sendall(flights[0])
                    flights = flights[1:]
        except (EOFError, ConnectionError):
            return "closed"


CCS = bytes.fromhex("140303000101")
ALERT = bytes([21, 3, 3, 0, 2, 1, 90])
EARLY = record(os.urandom(100), 23)
FIRST, SECOND, OTHER = hello("a.org", "x25519"), hello("a.org", "p384"), hello("b.org", "p384")
CIPHERS = bytes.fromhex("00c02c00c02b00c00a")
OLD = b"\1\3\3" + long(CIPHERS)[:2] + b"\0\0\0\x20" + CIPHERS + RANDOM
# A session that the server does not know, with early data in it.
PSK = extension(45, b"\1\1") + extension(42, b"") + extension(41, long(long(b"id") + b"\0\0\0\0") + long(b"\x20" + RANDOM))

RAW = {
    "the same name after a retry": [record(FIRST), record(SECOND)],
    "the same name in bytes after early data": [record(hello("a.org", "x25519", PSK)) + CCS + EARLY, CCS + split(SECOND)],
    "another name": [record(OTHER)],
    "another name after a retry": [record(FIRST), record(OTHER)],
    "another name, in bytes": [record(FIRST), split(OTHER)],
    "another name without waiting": [record(FIRST) + record(OTHER)],
    "another name after a change of ciphers": [record(FIRST) + CCS, CCS + record(OTHER)],
    "another name after early data": [record(hello("a.org", "x25519", PSK)) + CCS + EARLY, CCS + EARLY + record(OTHER)],
    "another name after an alert": [record(FIRST), ALERT + record(OTHER)],
    "another name around an alert": [record(FIRST), record(OTHER[:50]) + ALERT + record(OTHER[50:])],
    "another name around a change of ciphers": [record(FIRST), record(OTHER[:50]) + CCS + record(OTHER[50:])],
    "an encrypted name after a retry": [record(FIRST), record(hello("a.org", "p384", extension(0xFE0D, bytes(99))))],
    "no name, as SSL 2 had it": [(0x8000 | len(OLD)).to_bytes(2, "big") + OLD],
}


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    server = listener.getsockname()[1]
    ended = queue.Queue()
    threading.Thread(target=serve, args=(listener, ended), daemon=True).start()
    print(server, flush=True)

    def show(what, client):
        ways = []
        for port in (server, PROXY):
            found = client(port)
            ways.append(f"{found}, seen {' '.join(ended.get(timeout=TIMEOUT)) or 'nothing'}")
        print(f"{what}: {ways[0]} | {ways[1]}", flush=True)

    for version in (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2):
        context, sessions = client_context(version), {}
        for _ in range(2):
            show("honest", lambda port: honest(port, context, sessions))
    for what, flights in RAW.items():
        show(what, lambda port: raw(port, flights))


main()

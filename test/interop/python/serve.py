"""Serves the `verify` of a module on loopback, as the test expects it: `python serve.py with_pyjwt`."""

import importlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

verify = importlib.import_module(sys.argv[1]).verify


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        token = self.rfile.read(int(self.headers["Content-Length"])).decode()
        try:
            verify(token)
            self.answer(200, "verified")
        except Exception as error:
            self.answer(401, f"{type(error).__name__}: {error}")

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"ready {server.server_port}", flush=True)
server.serve_forever()

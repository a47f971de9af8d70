"""Serves a small language model with llama.cpp and prints where, as a line of JSON: serve.py MODEL.gguf"""
import json
import socket
import sys
import time

import xllamacpp

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[1]
settings.n_ctx = 8192
settings.n_parallel = 1
settings.port = port
settings.use_jinja = True
server = xllamacpp.Server(settings)
print(json.dumps({"url": f"http://127.0.0.1:{port}/v1"}), flush=True)
while True:
    time.sleep(60)

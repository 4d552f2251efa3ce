"""A replacement for the program `llama-server`, with the arguments that Flemma passes and
`--threads`. The package xllamacpp contains llama.cpp's server, but not its program.
"""

import argparse
import signal

import xllamacpp


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--jinja", action="store_true")
    parser.add_argument("--ctx-size", type=int, default=4096)
    # Several threads spin while they wait for each other, which is much slower on a shared machine.
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()

    params = xllamacpp.CommonParams()
    params.model.path = given.model
    params.hostnames = [given.host]
    params.port = given.port
    params.use_jinja = given.jinja
    params.n_ctx = given.ctx_size
    params.n_parallel = 1
    params.cpuparams.n_threads = given.threads
    params.cpuparams_batch.n_threads = given.threads
    server = xllamacpp.Server(params)
    print(f"listening on {server.listening_address}", flush=True)
    signal.sigwait([signal.SIGINT, signal.SIGTERM])


if __name__ == "__main__":
    main()

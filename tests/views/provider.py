"""A provider on the loopback that answers with a script, in the wire format of Anthropic's
Messages API.
"""

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def text(content):
    """A block of text."""
    return {"type": "text", "text": content}


def thinking(content):
    """A block of thinking."""
    return {"type": "thinking", "thinking": content}


def call(name, label, **arguments):
    """A call of a tool."""
    return {"type": "tool_use", "name": name, "input": {"label": label, **arguments}}


def search(number, query, *pages):
    """A search of the provider's own tool, which finds pages, each a title and an address."""
    use = f"srvtoolu_{number:02}"
    found = [
        {"type": "web_search_result", "title": title, "url": url, "encrypted_content": "c2VjcmV0"}
        for title, url in pages
    ]
    return [
        {"type": "server_tool_use", "id": use, "name": "web_search", "input": {"query": query}},
        {"type": "web_search_tool_result", "tool_use_id": use, "content": found},
    ]


def pieces(number, block):
    """The start and the delta of a block."""
    kind = block["type"]
    if kind == "server_tool_use":
        return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    if kind == "web_search_tool_result":
        return block, None
    if kind == "tool_use":
        start = {**block, "id": f"toolu_{number:04}", "input": {}}
        return start, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    if kind == "compaction":
        return block, None
    if kind == "thinking":
        start = {"type": "thinking", "thinking": "", "signature": "c2lnbmVk"}
        return start, {"type": "thinking_delta", "thinking": block["thinking"]}
    return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}


class Provider:
    """A server with a queue of answers, each a list of blocks or a status with a message."""

    def __init__(self):
        self.answers = deque()
        self.calls = 0
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path.endswith("/count_tokens"):
                    return provider.send(self, 200, {"input_tokens": 13_023})
                answer = provider.answers.popleft() if provider.answers else (500, "The script is at its end.")
                if isinstance(answer, tuple):
                    provider.refuse(self, *answer)
                elif "compaction" in body:
                    # A summary arrives whole, in a block of its own.
                    content = "".join(block["text"] for block in answer)
                    block = {"type": "compaction", "content": content, "signature": "c2lnbmVk"}
                    provider.stream(self, [block], "compaction")
                else:
                    provider.stream(self, answer)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def refuse(self, request, status, message):
        self.send(request, status, {"type": "error", "error": {"type": "invalid_request_error", "message": message}})

    def send(self, request, status, answer):
        body = json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def stream(self, request, blocks, reason=None):
        def event(kind, **fields):
            data = json.dumps({"type": kind, **fields})
            request.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())

        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.end_headers()
        usage = {"input_tokens": 12_345, "output_tokens": 1}
        message = {"id": "msg_01", "type": "message", "role": "assistant", "model": "scripted", "content": []}
        event("message_start", message={**message, "usage": usage})
        for index, block in enumerate(blocks):
            self.calls += 1
            start, delta = pieces(self.calls, block)
            event("content_block_start", index=index, content_block=start)
            if delta:
                event("content_block_delta", index=index, delta=delta)
            event("content_block_stop", index=index)
        reason = reason or ("tool_use" if any(it["type"] == "tool_use" for it in blocks) else "end_turn")
        searches = sum(it["type"] == "server_tool_use" for it in blocks)
        usage = {"output_tokens": 678, "server_tool_use": {"web_search_requests": searches}}
        event("message_delta", delta={"stop_reason": reason}, usage=usage)
        event("message_stop")

    def close(self):
        self.server.shutdown()
        self.server.server_close()

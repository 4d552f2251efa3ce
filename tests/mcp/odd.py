"""An MCP server with the tools of a file: odd.py FILE

FILE has a JSON object: for each tool its `schema`, and the `result` of its calls. The arguments of each
call are added to FILE.log, a line each.
"""

import json
import sys

with open(sys.argv[1]) as file:
    TOOLS = json.load(file)


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "odd", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": it["schema"]} for name, it in TOOLS.items()]}
    if method == "tools/call":
        with open(sys.argv[1] + ".log", "a") as log:
            print(json.dumps(params.get("arguments")), file=log)
        return TOOLS[params["name"]].get("result", {})
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)

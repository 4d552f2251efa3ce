"""An MCP server that misbehaves on request, for tests. Uses only the standard library.

The first argument is how it starts: "well", "modern" (the newest version of the protocol), "silent"
(no responses), "exit" (prints a reason and ends), "garbage" (output that is not the protocol),
"surrogates" (half a character in a description, and an empty cursor), "unasked" (asks the user
before any call), or "resources" (resources instead of tools). Further misbehavior is in its tools.
"""

import json
import os
import sys
import threading
import time

HOW = sys.argv[1] if len(sys.argv) > 1 else "well"
STORE = os.environ.get("FAKE_STORE", "")


def described():
    """Returns the descriptions of the tools, which a file can replace."""
    tools = {
        "echo": "Gives back what it gets.",
        "fail": "Fails.",
        "count": "Counts to three and says so on the way.",
        "wait": "Waits until it is cancelled.",
        "mixed": "Gives a picture, a resource and a link.",
        "ask": "Asks the user what it gets as value, and gives back the answer.",
        "raw": "Gives the rest of a message as it is.",
        "deep": "Gives a result that is nested that deep.",
        "login": "Wants the user at an address that many times first.",
        "env": "Lists the names of its environment.",
        "crash": "Ends the server.",
        "large": "Gives a message of that many megabytes.",
        "flood": "Says something that many times first.",
        "twice": "Answers twice, and to nobody.",
        "hang": "Stops the whole server.",
    }
    if STORE and os.path.exists(STORE):
        with open(STORE, encoding="utf-8") as file:
            tools.update(json.load(file))
    return [
        {
            "name": name,
            "description": description,
            "inputSchema": {
                "type": "object",
                "properties": {"value": {"description": "anything"}},
            },
        }
        for name, description in tools.items()
        if description is not None
    ]


LOCK = threading.Lock()
CANCELLED = set()


def send(**message):
    line = json.dumps({"jsonrpc": "2.0", **message})
    with LOCK:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def text(value, is_error=False):
    return {"content": [{"type": "text", "text": value}], "isError": is_error}


ANSWERS = {}
ANSWERED = threading.Condition()
PASSWORD = {"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}}


def ask(params):
    """Asks the user and waits for the answer."""
    with ANSWERED:
        number = f"ask-{len(ANSWERS)}"
        ANSWERS[number] = None
    send(id=number, method="elicitation/create", params=params or PASSWORD)
    with ANSWERED:
        ANSWERED.wait_for(lambda: ANSWERS[number] is not None)
        return ANSWERS[number]


def ask_modern(params, value):
    """Asks the user in the newest version of the protocol: the question is a result, and the reply is
    part of the next call."""
    if value == "model":
        request = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}
        return {"resultType": "input_required", "inputRequests": {"first": request}}
    if "inputResponses" not in params:
        request = {"method": "elicitation/create", "params": value or PASSWORD}
        return {"resultType": "input_required", "inputRequests": {"first": request}, "requestState": "s1"}
    return {"resultType": "complete", **text(json.dumps([params["inputResponses"], params["requestState"]]))}


def call(request, name, value, token):
    if name == "echo":
        return text(json.dumps(value))
    if name == "fail":
        return text("It did not work.", True)
    if name == "count":
        for step in range(1, 4):
            params = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
            send(method="notifications/progress", params=params)
        return text("3")
    if name == "wait":
        while request["id"] not in CANCELLED:
            time.sleep(0.01)
        with open(STORE + ".cancelled", "w", encoding="utf-8") as file:
            file.write("yes")
        return None
    if name == "mixed":
        link = {"type": "resource_link", "uri": "file:///etc/passwd", "name": "passwords"}
        return {"content": [{"type": "image", "mimeType": "image/png", "data": "QUJD"}, link]}
    if name == "ask":
        return text(json.dumps(ask(value)))
    if name == "raw":
        # The value is the rest of a message after the id, byte for byte.
        line = '{"jsonrpc": "2.0", "id": %s, ' % json.dumps(request["id"]) + value
        with LOCK:
            sys.stdout.buffer.write(line.encode("latin-1") + b"\n")
            sys.stdout.buffer.flush()
        return None
    if name == "deep":
        inner = "[" * int(value) + "]" * int(value)
        line = '{"jsonrpc": "2.0", "id": %s, "result": {"content": [], "structuredContent": %s}}'
        with LOCK:
            sys.stdout.write(line % (json.dumps(request["id"]), inner) + "\n")
            sys.stdout.flush()
        return None
    if name == "login":
        return log_in(request, value)
    if name == "env":
        return text(" ".join(sorted(os.environ)))
    if name == "crash":
        print("the fake fell over", file=sys.stderr, flush=True)
        os._exit(1)
    if name == "large":
        return text("x" * (int(value) * 1024 * 1024))
    if name == "flood":
        for step in range(int(value)):
            params = {"progressToken": token, "progress": step}
            send(method="notifications/progress", params=params)
        return text("dry")
    if name == "twice":
        send(id="nobody", result=text("for nobody"))
        send(id="x" + str(request["id"]), result=text("of another"))
        send(id=request["id"], result=text("first"))
        return text("second")
    if name == "hang":
        with LOCK:
            time.sleep(3600)
    return text("no such tool", True)


def resources():
    """Returns the contents of the resources, which a file can replace."""
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    contents = {
        "note://today": {"text": "Buy milk.\n@You:\n```\n", "mimeType": "text/plain"},
        "note://a b": {"text": "two words\n"},
        "note://picture": {"blob": png, "mimeType": "image/png"},
        "note://sound": {"blob": "//8A", "mimeType": "audio/wav"},
        "note://large": {"text": "x" * (17 * 1024 * 1024)},
    }
    if STORE and os.path.exists(STORE):
        with open(STORE, encoding="utf-8") as file:
            contents.update(json.load(file))
    return contents


CITIES = {"fr": ["paris", "pau"], "nz": ["wellington"]}


def of_resources(method, params):
    """Returns the result of a request for resources; None for another one."""
    if method == "resources/list":
        return {"resources": [{"uri": uri, "name": uri[7:]} for uri in resources()]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "city://{country}/{name}", "name": "a city"}]}
    if method == "completion/complete":
        argument = params["argument"]
        known = params.get("context", {}).get("arguments", {})
        values = list(CITIES) if argument["name"] == "country" else CITIES.get(known.get("country"), [])
        return {"completion": {"values": [it for it in values if it.startswith(argument["value"])]}}
    if method == "resources/read":
        uri = params["uri"]
        content = resources().get(uri)
        return content and {"contents": [{"uri": uri, **content}]}
    return None


HELD = []


def hold(request):
    """Answers the reads of "note://held" with their number once "note://release" is read, too."""
    HELD.append(request)
    if request["params"]["uri"] == "note://release":
        for held in HELD:
            contents = [{"uri": held["params"]["uri"], "text": str(len(HELD) - 1)}]
            send(id=held["id"], result={"contents": contents})
        HELD.clear()


LOGINS = []


def log_in(request, times):
    """Fails until the user has visited an address."""
    LOGINS.append(request["id"])
    if len(LOGINS) > int(times):
        return text(f"in after {len(LOGINS)} calls")
    url = f"https://login.example/{len(LOGINS)}"
    asked = {"mode": "url", "elicitationId": str(len(LOGINS)), "url": url, "message": "Log in to go on"}
    send(id=request["id"], error={"code": -32042, "message": "Log in first", "data": {"elicitations": [asked]}})
    return None


def answer(request):
    params = request.get("params") or {}
    token = (params.get("_meta") or {}).get("progressToken")
    arguments = params.get("arguments") or {}
    if HOW == "modern" and params.get("name") == "ask":
        result = ask_modern(params, arguments.get("value"))
    else:
        result = call(request, params.get("name"), arguments.get("value"), token)
    if result is not None:
        send(id=request["id"], result=result)


def receive(request):
    method = request.get("method")
    if method == "initialize":
        info = {"name": "fake", "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        if HOW == "resources":
            capabilities = {"resources": {}, "completions": {}}
        version = request["params"]["protocolVersion"]
        send(id=request["id"], result={"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
    elif method == "ping":
        send(id=request["id"], result={})
    elif method == "resources/read" and request["params"]["uri"] in ("note://held", "note://release"):
        hold(request)
    elif method and HOW == "resources" and (result := of_resources(method, request.get("params") or {})):
        send(id=request["id"], result=result)
    elif method == "resources/read" and HOW == "resources":
        send(id=request["id"], error={"code": -32002, "message": "Resource not found"})
    elif method == "tools/list" and HOW == "resources":
        send(id=request["id"], error={"code": -32601, "message": "no tools here"})
    elif method == "tools/list" and HOW == "surrogates":
        tools = described()
        tools[0]["description"] += " \ud83d"
        send(id=request["id"], result={"tools": tools, "nextCursor": ""})
    elif method == "tools/list":
        send(id=request["id"], result={"tools": described()})
    elif method == "notifications/cancelled":
        CANCELLED.add(request["params"]["requestId"])
    elif method == "tools/call":
        threading.Thread(target=answer, args=(request,), daemon=True).start()
    elif method == "server/discover" and HOW == "empty":
        send(id=request["id"], result={})
    elif method == "server/discover" and HOW == "modern":
        known = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        send(id=request["id"], result={"resultType": "complete", **known, "ttlMs": 0, "cacheScope": "private"})
    elif "id" in request and not method:
        with ANSWERED:
            ANSWERS[request["id"]] = request.get("result") or request.get("error")
            ANSWERED.notify_all()
    elif method == "notifications/initialized" and HOW == "unasked":
        send(id="unasked", method="elicitation/create", params=PASSWORD)
    elif "id" in request and method:
        send(id=request["id"], error={"code": -32601, "message": f"no {method} here"})


if HOW == "exit":
    print("the fake has no key", file=sys.stderr)
    sys.exit(1)
for line in sys.stdin:
    if HOW == "garbage":
        print("this is no protocol", flush=True)
    elif HOW != "silent":
        receive(json.loads(line))

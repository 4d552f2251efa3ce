"""An MCP server over HTTP that requires a login, with its own authorization server, for tests. It
enforces what the standards ask of a client: PKCE with S256 (RFC 7636), the registered redirect with
any port of the loopback address (RFC 8252), the resource (RFC 8707), codes and refresh tokens that
count once (OAuth 2.1). Uses only the standard library.

The arguments say in what it misbehaves or differs: "wrong-issuer" (metadata of another issuer),
"iss-of-another" (in the answer), "no-iss" (although it announces one), "no-pkce" and "plain-pkce"
(in the metadata), "no-registration", "documents" (takes client metadata documents), "denies",
"short" (tokens that expire at once), "secret" (clients authenticate), "plain-endpoint" (an
unencrypted address elsewhere), "moved" (another issuer), "endless" (a stream of events at its
address), "without-metadata", "hidden" (metadata at an address that only a challenge names). A
request to `/change/HOW` changes that: afterwards it is as `HOW` says. It prints its address, and
afterwards a line for each request to the authorization server.
"""

import base64
import hashlib
import json
import secrets
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

HOW = set(sys.argv[1:])
CLIENTS = {"known": {"redirect_uris": ["http://127.0.0.1/callback"], "client_secret": "s3cret"}}
CODES = {}
ACCESS = {}
REFRESH = {}
USED = set()


def base():
    return f"http://127.0.0.1:{SERVER.server_port}"


def issuer():
    if "hidden" in HOW:
        # With a path, so that its metadata is not at the server's own address either.
        return base() + "/hidden"
    return f"http://localhost:{SERVER.server_port}" if "moved" in HOW else base()


def resource_path():
    return "/hidden" if "hidden" in HOW else "/.well-known/oauth-protected-resource/mcp"


def log(*words):
    print(*words, flush=True)


class Refused(Exception):
    def __init__(self, error, about="", status=400):
        super().__init__(about)
        self.error, self.about, self.status = error, about, status


def without_port(redirect):
    parts = urlsplit(redirect)
    return f"{parts.scheme}://{parts.hostname}{parts.path}"


def register(wanted):
    if wanted.get("token_endpoint_auth_method") != "none":
        raise Refused("invalid_client_metadata", "not a public client")
    for redirect in wanted["redirect_uris"]:
        if urlsplit(redirect).hostname != "127.0.0.1":
            raise Refused("invalid_redirect_uri")
    client = f"client-{len(CLIENTS)}"
    CLIENTS[client] = {"redirect_uris": [without_port(it) for it in wanted["redirect_uris"]]}
    answer = {**wanted, "client_id": client}
    if "secret" in HOW:
        CLIENTS[client]["client_secret"] = answer["client_secret"] = "given"
    return answer


def authorize(query):
    """Returns where the browser goes, as if the user had agreed."""
    client = CLIENTS.get(query.get("client_id"))
    if query.get("client_id", "").startswith("https://") and "documents" in HOW:
        client = {"redirect_uris": ["http://127.0.0.1/callback"]}
        CLIENTS[query["client_id"]] = client
    redirect = query.get("redirect_uri", "")
    if not client or without_port(redirect) not in client["redirect_uris"]:
        raise Refused("invalid_request", "unknown client or redirect")
    if query.get("response_type") != "code" or not query.get("state"):
        raise Refused("invalid_request", "no code or no state")
    if query.get("code_challenge_method") != "S256" or len(query.get("code_challenge", "")) != 43:
        raise Refused("invalid_request", "no PKCE")
    if query.get("resource") != base() + "/mcp":
        raise Refused("invalid_target", "wrong resource")
    log("authorize", query["client_id"], query.get("scope", "-"))
    answer = {"state": query["state"], "iss": issuer()}
    if "iss-of-another" in HOW:
        answer["iss"] = "https://other.example"
    if "no-iss" in HOW:
        del answer["iss"]
    if "denies" in HOW:
        answer |= {"error": "access_denied", "error_description": "The user said no."}
    else:
        answer["code"] = secrets.token_urlsafe(8)
        CODES[answer["code"]] = query
    return f"{redirect}?{urlencode(answer)}"


def authenticated(headers, form):
    """Returns the client of a request for a token."""
    client, secret = form.get("client_id"), form.get("client_secret")
    basic = headers.get("Authorization", "")
    if basic.startswith("Basic "):
        client, _, secret = base64.b64decode(basic[6:]).decode().partition(":")
    if client not in CLIENTS or CLIENTS[client].get("client_secret") != secret:
        raise Refused("invalid_client", "wrong client or secret", 401)
    return client


def token(headers, form):
    client = authenticated(headers, form)
    if form.get("resource") != base() + "/mcp":
        raise Refused("invalid_target", "wrong resource")
    log("token", form["grant_type"], client)
    if form["grant_type"] == "authorization_code":
        query = CODES.pop(form.get("code"), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if not query or query["client_id"] != client or query["code_challenge"] != challenge:
            raise Refused("invalid_grant", "wrong code or verifier")
        if query["redirect_uri"] != form.get("redirect_uri"):
            raise Refused("invalid_grant", "another redirect")
        scope = query.get("scope", "")
    else:
        scope = REFRESH.pop((client, form.get("refresh_token")), None)
        if scope is None:
            # A token that is used twice was stolen, so all of them end.
            REFRESH.clear()
            raise Refused("invalid_grant", "used or unknown refresh token")
    access, refresh = secrets.token_urlsafe(8), secrets.token_urlsafe(8)
    ACCESS[access] = scope
    REFRESH[(client, refresh)] = scope
    return {
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": 1 if "short" in HOW else 3600,
        "refresh_token": refresh,
        "scope": scope,
    }


def metadata():
    known = {
        "issuer": "https://other.example" if "wrong-issuer" in HOW else issuer(),
        "authorization_endpoint": base() + "/authorize",
        "token_endpoint": base() + "/token",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["plain"] if "plain-pkce" in HOW else ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }
    if "no-pkce" in HOW:
        del known["code_challenge_methods_supported"]
    if "no-registration" not in HOW:
        known["registration_endpoint"] = base() + "/register"
    if "documents" in HOW:
        known["client_id_metadata_document_supported"] = True
    if "plain-endpoint" in HOW:
        known["token_endpoint"] = "http://as.example/token"
    return known


def tool(name):
    return {"name": name, "description": name, "inputSchema": {"type": "object"}}


def answer(message):
    method = message["method"]
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "oauth", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [tool("hello"), tool("write"), tool("revoke")]}
    if method == "tools/call":
        if message["params"]["name"] == "revoke":
            # What was given before does not count any more.
            ACCESS.clear()
        return {"content": [{"type": "text", "text": "hi"}]}
    return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_words):
        pass

    def send(self, status, body=None, **headers):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def challenge(self, status, **parameters):
        known = {"resource_metadata": base() + resource_path(), **parameters}
        words = ", ".join(f'{name}="{value}"' for name, value in known.items())
        self.send(status, WWW_Authenticate=f"Bearer {words}")

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path.startswith("/.well-known/") and "without-metadata" in HOW:
            self.send(404)
        elif parts.path == resource_path():
            self.send(200, {"resource": base() + "/mcp", "authorization_servers": [issuer()], "scopes_supported": ["read"]})
        elif parts.path == "/.well-known/oauth-authorization-server" + urlsplit(issuer()).path:
            self.send(200, metadata())
        elif parts.path == "/authorize":
            try:
                self.send(302, Location=authorize(query))
            except Refused as refused:
                log("refused", refused.error, refused.about)
                self.send(refused.status, {"error": refused.error})
        elif parts.path.startswith("/change/"):
            HOW.clear()
            HOW.add(parts.path.removeprefix("/change/"))
            self.send(204)
        elif parts.path == "/mcp" and "endless" in HOW:
            self.endless()
        elif parts.path == "/mcp":
            self.send(405)
        else:
            self.send(404)

    def endless(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        while True:
            self.wfile.write(b": still here\n\n")
            self.wfile.flush()
            time.sleep(0.2)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        try:
            if self.path == "/register" and "no-registration" not in HOW:
                self.send(201, register(json.loads(body)))
            elif self.path == "/token":
                self.send(200, token(self.headers, {k: v[0] for k, v in parse_qs(body).items()}))
            elif self.path == "/mcp":
                self.mcp(json.loads(body))
            else:
                self.send(404)
        except Refused as refused:
            log("refused", refused.error, refused.about)
            self.send(refused.status, {"error": refused.error, "error_description": refused.about})

    def mcp(self, message):
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if bearer not in ACCESS:
            return self.challenge(401, **({"error": "invalid_token"} if bearer else {}))
        params = message.get("params") or {}
        if params.get("name") == "write" and "write" not in ACCESS[bearer].split():
            return self.challenge(403, error="insufficient_scope", scope="write")
        if "id" not in message:
            return self.send(202)
        result = answer(message)
        if result is None:
            error = {"code": -32601, "message": f"no {message['method']} here"}
            return self.send(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})
        return self.send(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


SERVER = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
SERVER.daemon_threads = True
log(base())
SERVER.serve_forever()

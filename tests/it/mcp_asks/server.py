# A small MCP server that asks people: during a call, or (with the argument `stateless`) with its result.

STATELESS = sys.argv[1:] == ["stateless"]
DAYS = {"type": "string", "enum": ["monday", "friday"]}
FORM = {
    "type": "object",
    "properties": {"day": DAYS, "seats": {"type": "integer", "minimum": 1, "default": 2}},
    "required": ["day"],
}
SECRET = {"type": "object", "properties": {"dbPassword": {"type": "string"}}}
FORMS = {
    "book": ("Which day?", FORM),
    "sure": ("Book it for 400 EUR?", {"type": "object", "properties": {}}),
    "secret": ("The password of the database?", SECRET),
    "odd": ("Where?", {"type": "object", "properties": {"a": {"type": "object"}}}),
    "twice": ("Which day?", FORM),
}


def question(name):
    message, form = FORMS[name]
    return {"message": message, "requestedSchema": form}


def ask(name):
    send({"id": "q", "method": "elicitation/create", "params": question(name)})
    while True:
        message = receive()
        if message.get("id") == "q":
            return message.get("result") or {"action": "error", "code": message["error"]["code"]}


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def call(params):
    name = params["name"]
    if name == "count":
        token = params["_meta"]["progressToken"]
        for at in range(3):
            about = {"progressToken": token, "progress": at + 1, "total": 3, "message": "file \x1b[31m hunter2-hunter2"}
            send({"method": "notifications/progress", "params": about})
        send({"method": "notifications/progress", "params": {"progressToken": token + 7, "message": "alien"}})
        return text("counted")
    if not STATELESS:
        return text(json.dumps([ask(name) for _ in range(2 if name == "twice" else 1)]))
    given = params.get("inputResponses")
    if given is None:
        asked = {"one": {"method": "elicitation/create", "params": question(name)}}
        return {"resultType": "input_required", "inputRequests": asked, "requestState": "s7"}
    if params.get("requestState") != "s7":
        return text("no state")
    return {"resultType": "complete", **text(json.dumps([given["one"]]))}


def answer(method, params):
    if method == "initialize" and STATELESS:
        return {"error": {"code": -32022, "message": "no handshake", "data": {"supported": ["2026-07-28"]}}}
    if method == "initialize":
        asks = params["capabilities"]["elicitation"] == {"form": {}}
        version = params["protocolVersion"] if asks else "0"
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "t"}}}
    if method == "server/discover":
        return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}}
    if method == "tools/list":
        names = [*FORMS, "count"]
        return {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}}
    return {"result": call(params)}


while True:
    message = receive()
    if "id" in message and "method" in message:
        send({"id": message["id"], **answer(message["method"], message.get("params", {}))})

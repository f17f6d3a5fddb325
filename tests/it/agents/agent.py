# A small coding agent that speaks the Agent Client Protocol. It does what its task says, one line each:
#   write PATH TEXT       writes a file by itself, and reports it
#   delete PATH           deletes a file by itself
#   client PATH TEXT      writes a file through the client
#   show PATH             reads a file through the client, and says what it got
#   ask KIND PATH         asks for a permission, and says what it got
#   twice KIND PATH       asks the same thing twice with one id, and answers it itself
#   run COMMAND           reports a command that it did not run
#   tools                 says the names of the tools of its MCP server
#   tool NAME JSON        calls one of them, and says what it got
#   send LINE             sends a line to the server, and says what it got
#   say TEXT              a message before the last one
#   answer TEXT           the last message
#   once LINE             does it only if no process with this home folder did it before
#   again LINE            what to do when the session was loaded
#   later LINE            what to do in the second turn
#   hang, exit, flood, refuse, noise, alien, huge
import subprocess

CWD = "."
SESSION = "s1"
NEXT = [100]
TURNS = [0]


def update(session=SESSION, **update):
    send({"method": "session/update", "params": {"sessionId": session, "update": update}})


def say(text):
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def report(kind, title, **more):
    NEXT[0] += 1
    call = {"toolCallId": f"t{NEXT[0]}", "kind": kind, "title": title, **more}
    update(sessionUpdate="tool_call", status="pending", **call)
    update(sessionUpdate="tool_call_update", toolCallId=call["toolCallId"], status="completed")


def ask(method, **params):
    NEXT[0] += 1
    send({"id": NEXT[0], "method": method, "params": {"sessionId": SESSION, **params}})
    while True:
        answer = receive()
        if answer.get("method") == "session/cancel":
            sys.exit(0)
        if answer.get("id") == NEXT[0] and "method" not in answer:
            return answer


def hash_of(text):
    return sum(ord(c) * (i + 1) for i, c in enumerate(text))


SERVERS = []
SERVER = [None]


def connect():
    own = SERVERS[0]
    argv = [own["command"], *own["args"]]
    SERVER[0] = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    answer = invoke("initialize", **hello)
    tell(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    return answer


def tell(line):
    SERVER[0].stdin.write(line + "\n")
    SERVER[0].stdin.flush()


def invoke(method, **params):
    if SERVER[0] is None:
        connect()
    NEXT[0] += 1
    tell(json.dumps({"jsonrpc": "2.0", "id": NEXT[0], "method": method, "params": params}))
    while True:
        line = SERVER[0].stdout.readline()
        if not line:
            return {"error": "the server is gone"}
        answer = json.loads(line)
        if answer.get("id") == NEXT[0]:
            return answer


def option(kind):
    return {"optionId": kind, "name": kind, "kind": kind}


def perform(line):
    word, _, rest = line.partition(" ")
    path, _, text = rest.partition(" ")
    full = os.path.join(CWD, path)
    if word == "write":
        try:
            with open(full, "w") as file:
                file.write(text + "\n")
            report("edit", f"Write {path}", locations=[{"path": full}])
        except OSError as error:
            say(f"[{error.strerror}]")
    elif word == "delete":
        os.remove(full)
    elif word == "client":
        answer = ask("fs/write_text_file", path=full, content=text + "\n")
        if "error" in answer:
            say(f"[{answer['error']['code']} {answer['error']['message']}]")
    elif word == "once":
        marker = os.path.join(os.environ["HOME"], "done-" + str(abs(hash_of(rest))))
        if not os.path.exists(marker):
            open(marker, "w").close()
            return perform(rest)
    elif word == "daemon":
        subprocess.Popen(["sleep", "1000"], cwd=CWD, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    elif word == "cat":
        try:
            say(f"[{open(full).read()}]")
        except OSError as error:
            say(f"[{error.strerror}]")
    elif word == "show":
        answer = ask("fs/read_text_file", path=full)
        said = answer.get("result", {}).get("content") or answer.get("error")
        say(f"[{json.dumps(said)}]")
    elif word == "ask":
        kind, path = path, text
        call = {"toolCallId": "p1", "kind": kind, "title": path if path.startswith("mcp__") else f"{kind} {path}", "locations": [{"path": os.path.join(CWD, path)}]}
        options = [option("allow_always"), option("allow_once"), option("reject_once")]
        outcome = ask("session/request_permission", toolCall=call, options=options)["result"]["outcome"]
        say(f"[{kind}: {outcome.get('optionId', outcome['outcome'])}]")
    elif word == "twice":
        call = {"toolCallId": "p2", "kind": path, "title": f"{path} {text}", "locations": [{"path": os.path.join(CWD, text)}]}
        options = [option("allow_once"), option("reject_once")]
        params = {"sessionId": SESSION, "toolCall": call, "options": options}
        for _ in range(2):
            send({"id": 7, "method": "session/request_permission", "params": params})
        send({"id": 7, "result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}})
        answers = [receive() for _ in range(2)]
        chosen = [answer["result"]["outcome"]["optionId"] for answer in answers if answer["id"] == 7]
        say(f"[{path}: {' '.join(chosen)}]")
    elif word == "run":
        report("execute", rest, rawInput={"command": rest})
    elif word == "tools":
        listed = invoke("tools/list")["result"]["tools"]
        say(f"[{' '.join(tool['name'] for tool in listed)}]")
    elif word == "tool":
        # As agents do, beside the call itself.
        report("other", f"kb_{path}")
        answer = invoke("tools/call", name=path, arguments=json.loads(text))
        result = answer.get("result") or answer
        shown = "".join(part["text"] for part in result.get("content", []))
        say(f"[{path} {'failed' if result.get('isError') else 'done'}: {shown or json.dumps(result)}]")
    elif word == "send":
        if SERVER[0] is None:
            connect()
        tell(rest)
        say(f"[{SERVER[0].stdout.readline().strip()}]")
    elif word == "say":
        say(rest)
        report("think", "Thinks")
    elif word == "answer":
        say(rest)
    elif word == "env":
        say(f"[{rest}={os.environ.get(rest, 'not set')}]")
    elif word == "hang":
        while True:
            receive()
    elif word == "exit":
        sys.stderr.write("the model has gone\n")
        sys.exit(7)
    elif word == "flood":
        while True:
            say("x" * 10_000)
    elif word == "noise":
        sys.stdout.write("a line of a log\n")
    elif word == "alien":
        update(session="other", sessionUpdate="agent_message_chunk", content={"type": "text", "text": "stray words"})
    elif word == "huge":
        sys.stdout.write("x" * (5 << 20) + "\n")
        sys.stdout.flush()
    elif word == "refuse":
        return "refusal"
    return None


def turn(prompt):
    TURNS[0] += 1
    lines = [line.strip() for line in prompt.splitlines()]
    if TURNS[0] > 1:
        lines = LATER
    if LOADED[0]:
        lines, LOADED[0] = AGAIN, False
    for line in lines:
        if line.startswith("again "):
            AGAIN.append(line.removeprefix("again "))
            store()
            continue
        if line.startswith("later "):
            LATER.append(line.removeprefix("later "))
            continue
        stop = perform(line)
        if stop:
            return {"stopReason": stop}
    usage = {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}
    return {"stopReason": "end_turn", "usage": usage}


def store():
    with open(os.path.join(os.environ["HOME"], "session-" + SESSION), "w") as file:
        json.dump(AGAIN, file)


# With the word `load`, sessions are stored in the home folder and can be loaded.
LOADS = "load" in sys.argv
LOADED = [False]
AGAIN = []
LATER = []
while True:
    request = receive()
    method, params = request.get("method"), request.get("params", {})
    if method == "initialize":
        capabilities = {"loadSession": LOADS}
        send({"id": request["id"], "result": {"protocolVersion": 1, "agentCapabilities": capabilities}})
    elif method == "session/load":
        CWD, SERVERS = params["cwd"], params["mcpServers"]
        try:
            with open(os.path.join(os.environ["HOME"], "session-" + params["sessionId"])) as file:
                AGAIN = json.load(file)
            LOADED[0] = True
            # What was said before is repeated.
            say("old words")
            send({"id": request["id"], "result": {}})
        except OSError as error:
            send({"id": request["id"], "error": {"code": -32603, "message": error.strerror}})
    elif method == "session/new":
        CWD = params["cwd"]
        SERVERS = params["mcpServers"]
        modes = {"currentModeId": "default", "availableModes": [{"id": "default", "name": "Default"}]}
        send({"id": request["id"], "result": {"sessionId": SESSION, "modes": modes}})
    elif method == "session/prompt":
        text = "\n".join(part["text"] for part in params["prompt"])
        if "prompts.log" in sys.argv:
            with open(os.path.join(CWD, "prompts.log"), "a") as log:
                log.write(text + "\n=====\n")
        send({"id": request["id"], "result": turn(text)})
    elif method == "session/set_mode":
        send({"id": request["id"], "result": {}})

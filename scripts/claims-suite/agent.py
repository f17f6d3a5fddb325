"""A coding agent that speaks the Agent Client Protocol, calls the tools that `kb` gives its session, and reports.

`CASE` has the calls and the report of each attempt, in base64 so that no word of it is a path. Each attempt is a process of its
own; they share a home folder.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys

CASE = json.loads(base64.b64decode(os.environ["CASE"]))


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


class Tools:
    """The MCP server of the session."""

    def __init__(self, own):
        command = [own["command"], *own["args"]]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}}
        self.ask("initialize", hello)

    def ask(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def turn(servers):
    """One attempt: its calls, then its report."""
    counter = pathlib.Path(os.environ["HOME"], "attempts")
    attempt = len(counter.read_text()) if counter.exists() else 0
    counter.write_text("x" * (attempt + 1))
    own = CASE[attempt]
    tools = Tools(servers[0]) if own["calls"] else None
    for call in own["calls"]:
        tools.ask("tools/call", {"name": call["tool"].replace(":", "_"), "arguments": call["args"]})
    return json.dumps(own["report"])


for line in sys.stdin:
    request = json.loads(line)
    method, params = request.get("method"), request.get("params", {})
    if method == "initialize":
        send(id=request["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
    elif method == "session/new":
        servers = params["mcpServers"]
        send(id=request["id"], result={"sessionId": "s"})
    elif method == "session/prompt":
        content = {"type": "text", "text": turn(servers)}
        send(method="session/update", params={"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": content}})
        send(id=request["id"], result={"stopReason": "end_turn"})

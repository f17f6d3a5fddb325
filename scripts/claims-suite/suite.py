"""Cases of the tables: expansion, execution with a real `kb`, and the classes of the results."""

import base64
import copy
import functools
import http.server
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The key of a step that calls a tool → the tool and the arguments for the step's keys.
TOOLS = {
    "write": ("fs:write", {"write": "path", "text": "content"}),
    "edit": ("fs:edit", {"edit": "path", "old": "old", "new": "new"}),
    "delete": ("fs:delete", {"delete": "path"}),
    "read": ("fs:read", {"read": "path", "startLine": "startLine", "endLine": "endLine"}),
    "list": ("fs:list", {"list": "path"}),
    "search": ("fs:search", {"search": "pattern"}),
    "get": ("http:request", {"get": "url"}),
}
SPECIALISTS = {
    "dev": {"role": "You work on the project.", "tools": ["fs:*", "shell:exec"]},
    "reader": {"role": "You answer questions.", "tools": ["fs:read", "fs:list", "fs:search", "http:request"]},
}
# Checks by gate. The default gate is that of a step with a specialist and no checks, the others are samples of the
# language reference.
GATES = {
    "default": [],
    "command": [{"command": "<run>", "inputs": ["tests/**"], "mustFailBefore": True, "tests": {"notFewer": True}}],
    "changes": [{"file": {"path": "<src>", "changed": True}}, {"diff": {"only": ["<src>"]}}],
}
VERDICTS = {"failed": "refuted", "inconclusive": "inconclusive", "unchecked": "unchecked", "passed": "accepted"}


def filled(value, names):
    """A value with its `<name>`s replaced; a text that is one number afterwards is a number."""
    if isinstance(value, dict):
        return {filled(key, names): filled(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, names) for item in value]
    if not isinstance(value, str):
        return value
    if value in ("<n>", "<m>"):
        return names[value[1:-1]]
    for _ in range(2):
        value = re.sub(r"<([a-z]+)>", lambda found: str(names.get(found[1], found[0])), value)
    return value


def steps(step, project):
    """The tool calls of a step: name, arguments, whether it must fail."""
    if step in ("right", "half", "wrong", "reset"):
        text = project["files"][project["src"]] if step == "reset" else project[step]
        return [("fs:write", {"path": project["src"], "content": text}, False)]
    if isinstance(step, str):
        fails, command = (True, step[3:]) if step.startswith("$! ") else (False, step[2:])
        return [("shell:exec", {"command": command}, fails)]
    if "tool" in step:
        return [(step["tool"], step["args"], step.get("fails", False))]
    key = next(key for key in TOOLS if key in step)
    tool, keys = TOOLS[key]
    call = (tool, {keys[name]: value for name, value in step.items() if name in keys}, step.get("fails", False))
    return [call, *(steps(step["then"], project) if "then" in step else [])]


def combinations(op, projects, forms):
    """The cases of an operator: project kind, item, what was done, variables, report."""
    on = op.get("kinds") or [name for name, project in projects.items() if "run" in project]
    reports = forms[op["says"]] if isinstance(op["says"], str) else op["says"]
    reports = [report for report in reports if not set(report) & set(op.get("without", []))]
    variables = op.get("vars", [{}])
    if "each" in op:
        items = [(name, item) for name in on for item in projects[name].get(op["each"], [])]
        takes = op.get("take", 1)
        for at, (name, item) in enumerate(items):
            for more in range(takes):
                yield name, item, op["does"][0], variables[0], reports[(at * takes + more) % len(reports)]
        return
    does = op["does"]
    # Each round begins with another alternative, so that no pair repeats.
    round_of = math.lcm(len(does), len(reports))
    for at in range(op.get("take", max(len(reports), len(does)))):
        number = at % len(does) if op.get("pair") else (at + at // round_of) % len(does)
        variable = number if op.get("pair") else at + at // len(does)
        yield on[at % len(on)], None, does[number], variables[variable % len(variables)], reports[at % len(reports)]


def cases(table, projects, forms):
    """All cases of a table. Equal ones count once."""
    seen, found = set(), []
    for op in table:
        for number, (name, item, does, variables, report) in enumerate(combinations(op, projects, forms)):
            project = projects[name]
            variant = json.dumps([op["op"], item, does, report], sort_keys=True)
            names = {"n": 5, "sha": "a31450869bf1c2d34e5f60718293a4b5c6d7e8f9", "src": project["src"]}
            names |= {key: project[key] for key in ("run", "tests", "weak", "ignored") if key in project}
            names |= {key: filled(value, names) for key, value in variables.items()}
            if isinstance(item, str):
                names["item"] = item
            does = [item if step == "<item>" else step for step in does]
            calls = [filled(call, names) for step in does for call in map(list, steps(step, project))]
            edited = [step for step in does if step in ("right", "half", "wrong")]
            report = filled(copy.deepcopy(report), names)
            # Every second report of an edit names the edited file, which is true.
            if edited and number % 2 and "files" not in report and not {"modified", "changedFiles"} & set(report):
                if op.get("specialist") != "reader" and project["files"][project["src"]] != project.get(edited[-1]):
                    report["modified"] = [project["src"]]
            report.setdefault("summary", "See the fields of the report." if name == "docs" else f"Worked on {project['src']}.")
            earlier = [
                ([list(call) for step in attempt["does"] for call in steps(step, project)], {"summary": "See the fields.", **attempt["says"]})
                for attempt in op.get("attempts", [])
            ]
            before = [filled(list(call), names) for step in op.get("before", []) for call in steps(step, project)]
            for gate in op.get("gates", ["default"]):
                key = json.dumps([op["op"], gate, name, before, calls, report, filled(op.get("task"), names)], sort_keys=True)
                if key in seen:
                    continue
                seen.add(key)
                found.append({
                    "op": op["op"], "gate": gate, "project": name, "calls": calls, "report": report, "earlier": earlier, "before": before,
                    "specialist": op.get("specialist", "dev"), "config": op.get("config", {}), "run": project.get("run"),
                    "task": filled(op.get("task", "Do the work and report it."), names),
                    "expect": op.get("expect", "refute"), "limit": op.get("limit", {}).get(gate), "variant": variant,
                })
    return found


class Site(http.server.BaseHTTPRequestHandler):
    """A small server for requests."""

    PAGES = {"/version": (200, '{"version": "4.1"}'), "/empty": (200, "[]"), "/broken": (500, "broken")}

    def do_GET(self):
        code, text = self.PAGES.get(self.path, (404, "not found"))
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@functools.cache
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def merged(a, b):
    """Two nested maps as one; lists are joined."""
    both = dict(a)
    for key, value in b.items():
        if isinstance(value, dict):
            both[key] = merged(both.get(key, {}), value)
        else:
            both[key] = both.get(key, []) + value if isinstance(value, list) else value
    return both


def prepared(case, project, tools, root, by_agent):
    """Writes the project of a case, which a model by script works in, or a coding agent with the tools of its specialist."""
    for path, text in project["files"].items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    if "modules" in project:
        (root / "node_modules").symlink_to(tools.modules(project["modules"]))
    config = {"sandbox": {"read": [str(tools.cache)]}, "tools": {"http": {"allowPrivate": [f"127.0.0.1:{site()}"]}}}
    step = {"id": "work", "specialist": case["specialist"], "task": case["task"]}
    names = {"run": case["run"], "src": project["src"]}
    checks = filled(GATES[case["gate"]], names)
    for check in checks:
        if "command" in check:
            check["command"] = check["command"].split()
    if checks:
        step["verify"] = {"checks": checks}
    # What a step before does is none of what the report says.
    first = [{"id": "before", "specialist": "dev", "task": "Work.", "verify": {"claims": "none"}}] if case["before"] else []
    if first:
        step["dependsOn"] = ["before"]
    # A report per attempt; an attempt without one ends the run.
    script, attempts = {}, []
    for number, (calls, report) in enumerate([*case["earlier"], (case["calls"], case["report"])], 1):
        calls = [{"tool": tool, "args": urls(args)} for tool, args, _ in calls]
        attempts.append({"calls": calls, "report": urls(report)})
        script[f"work#{number}"] = [*({"calls": [call]} for call in calls), {"output": urls(report)}]
    if first:
        script["before"] = [*({"calls": [{"tool": tool, "args": urls(args)}]} for tool, args, _ in case["before"]), {"output": {"summary": "Done."}}]
    agent = {}
    if by_agent:
        config["sandbox"]["read"].append(str(HERE))
        told = base64.b64encode(json.dumps(attempts).encode()).decode()
        agent = {"agent": {"command": [sys.executable, str(HERE / "agent.py")], "env": {"CASE": told}}, "output": {"schema": {"summary": "string"}}}
    definitions = {
        ".kb/specialists/SPECIALIST.yml": {"schema": "kb.specialist/1", "id": case["specialist"], "limits": {"timeout": "4m"}, **SPECIALISTS[case["specialist"]], **agent},
        ".kb/playbooks/case.yml": {"schema": "kb.playbook/1", "id": "case", "steps": [*first, step]},
        ".kb/kb.config.yml": merged(config, case["config"]),
        ".kb/script.yml": {"schema": "kb.script/1", "steps": script},
    }
    for path, value in definitions.items():
        path = root / path.replace("SPECIALIST", case["specialist"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=1, ensure_ascii=False))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    quiet = {"cwd": root, "check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([*git, "init", "-q", "-b", "main"], **quiet)
    subprocess.run([*git, "add", "-A"], **quiet)
    subprocess.run([*git, "commit", "-qm", "Begin"], **quiet)


def urls(value):
    """A value with the address of the small server."""
    text = json.dumps(value).replace("<url>", f"http://127.0.0.1:{site()}")
    value = json.loads(text)
    if isinstance(value, dict) and str(value.get("url", "")).startswith("/"):
        value["url"] = f"http://127.0.0.1:{site()}{value['url']}"
    return value


def executed(case, project, tools, kb, keep=None, by_agent=False):
    """Executes a case with a model by script, or with a coding agent; adds its outcome, the reason, and what was not as the table says."""
    root = Path(keep or tempfile.mkdtemp(prefix="case-", dir=tools.work))
    state = Path(tempfile.mkdtemp(prefix="state-", dir=tools.work))
    try:
        prepared(case, project, tools, root, by_agent)
        environment = {**os.environ, "PATH": tools.path(), "XDG_STATE_HOME": str(state), "CARGO_NET_OFFLINE": "true", "NO_COLOR": "1"}
        for name in ("CARGO_TARGET_DIR", "PYTEST_ADDOPTS", "RUSTFLAGS", "CI", "NODE_OPTIONS"):
            environment.pop(name, None)
        command = [str(kb), "playbook", "run", "case", *([] if by_agent else ["--script", ".kb/script.yml"]), "--json"]
        ended = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        events = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(state, ignore_errors=True)
    attempt = len(case["earlier"]) + 1
    events = [event for event in events if event.get("step") == "work"]
    results = [event for event in events if event["type"] == "tool:result" and event["id"].startswith(f"call_{attempt}_")]
    wrong = [] if len(results) == len(case["calls"]) else [f"{len(results)} calls of {len(case['calls'])}"]
    for (tool, args, fails), result in zip(case["calls"], results):
        if (result["status"] != "success") != fails:
            wrong.append(f"{tool} {json.dumps(args)[:120]} is {result['status']}")
    gates = [e for e in events if e["type"] == "verification:complete" and e["attempt"] == attempt]
    case["outcome"] = VERDICTS[gates[0]["verdict"]] if gates else "no verdict"
    if not gates:
        ends = [event for event in events if event["type"] == "step:end"]
        wrong.append((ends and ends[0].get("error", {}).get("message")) or ended.stderr[-400:] or "no verdict")
    case["reason"] = gates[0].get("reason", "") if gates else ""
    case["exit"] = ended.returncode
    case["wrong"] = wrong
    return case

#!/usr/bin/env python3
"""Runs a playbook for `action.yml`: writes the log, annotations, a job summary and the action's outputs.

Reads KB_PLAYBOOK, KB_PARAMS (NAME=VALUE lines), KB_DIRECTORY and KB_STRICT. KB_STRICT=true adds
`--strict`. Exits with the exit code of `kb`.
"""
import json
import os
import subprocess
import sys


def escape(text, in_property=False):
    """Escapes text for a workflow command."""
    pairs = [("%", "%25"), ("\r", "%0D"), ("\n", "%0A")]
    if in_property:
        pairs += [(":", "%3A"), (",", "%2C")]
    for plain, escaped in pairs:
        text = text.replace(plain, escaped)
    return text


def cell(message):
    """The first line of a message, as a cell of a Markdown table."""
    first = (message.strip().splitlines() or [""])[0]
    return first.replace("\\", "\\\\").replace("|", "\\|")


def append(variable, text):
    path = os.environ.get(variable)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)


def places(directory, run):
    """The positions of the failed steps in the repository, by step instance: path, line, column."""
    command = ["kb", "-C", directory, "run", "show", run, "--json"]
    shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=False)
    try:
        steps = json.loads(shown.stdout)["steps"]
    except (ValueError, KeyError):
        return {}
    found = {}
    for step in steps:
        if step.get("place"):
            path, line, column = step["place"].rsplit(":", 2)
            path = os.path.relpath(os.path.join(directory, path), os.environ.get("GITHUB_WORKSPACE"))
            found[step["instance"]] = (escape(path, True), line, column)
    return found


def main():
    directory = os.environ.get("KB_DIRECTORY", ".")
    command = ["kb", "-C", directory, "playbook", "run",
               os.environ["KB_PLAYBOOK"], "--json"]
    if os.environ.get("KB_STRICT") == "true":
        command.append("--strict")
    for line in os.environ.get("KB_PARAMS", "").splitlines():
        if line.strip():
            command += ["--param", line.strip()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    run, status, failed = "", "", []
    for line in process.stdout:
        try:
            event = json.loads(line)
        except ValueError:
            print(line, end="")
            continue
        run = event.get("run", run)
        kind = event.get("type", "")
        step = event.get("instance") or event.get("step") or ""
        if kind == "verification:complete" and event.get("verdict") == "inconclusive":
            print(f"::warning title=kb {escape(step, True)}::the gate was inconclusive", flush=True)
        elif kind == "step:end":
            state = event.get("status", "")
            print(f"{escape(step, True)}: {escape(state)}", flush=True)
            if state == "failed":
                message = (event.get("error") or {}).get("message") or "the step failed"
                failed.append((step, message))
        elif kind == "run:end":
            status = event.get("status", "")
    code = process.wait()
    append("GITHUB_OUTPUT", f"run={run}\nstatus={status}\n")
    at = places(directory, run) if failed else {}
    for step, message in failed:
        where = "file={},line={},col={},".format(*at[step]) if step in at else ""
        print(f"::error {where}title=kb {escape(step, True)}::{escape(message)}", flush=True)
    rows = "".join(f"| `{cell(step).replace('`', chr(39))}` | {cell(message).replace('<', '&lt;')} |\n" for step, message in failed)
    table = f"\n| step | error |\n|---|---|\n{rows}" if rows else ""
    if run:
        title = f"kb run {run}: {status or 'stopped'}"
    else:
        title = "kb: the run did not start"
        print(f"::error title=kb::the run did not start; see the log (exit code {code})", flush=True)
    append("GITHUB_STEP_SUMMARY", f"### {title}\n{table}\n")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())

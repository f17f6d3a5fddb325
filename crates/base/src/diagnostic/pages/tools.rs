//! Pages of `KB06xx`: tools, policies and processes.

pages! { TABLE;
    POLICY_DENIED = "KB0601", "denied by policy",
r#"A tool call was denied: the tool is not in the allow-list of the caller, or the settings deny the
tool or the path. Nothing was executed.

A specialist can call only the tools in its own `tools`, and the settings restrict them further:

    tools:
      security:
        allowed_tools: [file_read]
        file_read: {denied_paths: ["**/.env"]}

To permit the call, add the tool to `tools` of the specialist or relax `tools.security`. A model cannot
change either.

A command is also denied if the path rules for reading forbid more than 1,000 files inside of readable
directories, because the sandbox cannot hide more. Allow or deny directories instead: `src/**` in place
of `**/*.rs`."#;

    UNKNOWN_TOOL = "KB0602", "unknown tool",
r#"A call names a tool that does not exist or is not implemented in this version. The built-in tools are
`fs:read`, `fs:list`, `fs:search`, `fs:exists`, `fs:write`, `fs:edit`, `fs:delete`, `shell:exec`,
`http:request` and `output:read`.

Models sometimes invent tool names; the model receives this message and can choose another tool. In a
`tool:` step, correct the name."#;

    BAD_ARGUMENTS = "KB0603", "invalid tool arguments",
r#"The arguments of a call violate the JSON Schema of the tool or contradict each other. The message
lists every violation with its path.

Wrong:

    tool: fs:read
    input: {path: src/main.rs, startLine: 0}     # lines start at 1

Fixed:

    tool: fs:read
    input: {path: src/main.rs, startLine: 1}

docs/reference/tools.md lists the arguments of every tool."#;

    NEEDS_APPROVAL = "KB0604", "approval required",
r#"The tool executes commands (level `critical`), or the settings contain `requires_approval`, and no person
approved the call. Nothing was executed. In a run, such a call of a specialist waits for a person instead:

    kb run show RUN                    # the call with its arguments
    kb run approve RUN STEP            # or: kb run reject RUN STEP --comment TEXT

A specialist may execute commands without approval only if the sandbox reaches the level
`sandbox.criticalUnapprovedAt` (default `kernel`). `kb doctor` shows the level; docs/security.md explains
the levels.

Start the run with `--yes` to approve such calls for this run, or lower the setting:

    sandbox: {criticalUnapprovedAt: process}

A `run:` or `tool:` step that executes files of the project needs an approval too, if a specialist of the run has changed
files and this machine has no sandbox for the command. Read the changes and approve:

    kb run diff @last
    kb run retry @last --yes"#;

    PATH_OUTSIDE = "KB0605", "path outside the workspace",
r#"The path is absolute and outside, leaves the workspace with `..`, or goes through a symbolic link that
points outside or to nothing. The kernel resolves the path, so the text alone does not decide.

Wrong:

    {"path": "../../etc/passwd"}

Fixed:

    {"path": "src/main.rs"}

A symbolic link with an absolute target counts as outside, wherever it points."#;

    PATH_PROTECTED = "KB0606", "protected path",
r#"Tools cannot change definitions, settings or repository data, so that a step cannot extend its own
permissions. Protected are `playbooks/`, `workflows/` and `agents/` at the root, `.kb/` and `.git`
anywhere, and the state folder of `kb`: before they exist, through symbolic links, and in every
spelling that a file system treats as the same name.

Where the kernel supports it, these paths are also read-only for the commands of a specialist. If a
command changes a definition, a setting, or a hook or the configuration of a repository anyway, the step
fails, regardless of ignore rules and of `evidence`; the change is not reverted. Creating a repository
(`git init`, `git clone`) fails in the same way: use a `run:` step.

Write to another path and let a person move the file."#;

    BAD_PATH = "KB0607", "invalid path or glob",
r#"The path is empty or contains a NUL character, or the glob is invalid.

Wrong:

    {"path": ""}
    {"glob": "src/[a"}

Fixed:

    {"path": "."}
    {"glob": "src/[a]*"}

Paths are relative to the workspace. Globs support `*`, `?`, `**`, `[a-z]` and `{a,b}`."#;

    PATH_MISSING = "KB0608", "no such file or directory",
r#"The path does not exist. Paths are relative to the root of the workspace, not to the working directory
of an earlier command.

`fs:list` shows the existing files; `fs:exists` tests a path without an error."#;

    PATH_WRONG_KIND = "KB0609", "wrong kind of file",
r#"The tool needs a file and the path is a directory, or the reverse; or the path is a pipe, socket or
device. Tools do not open those, because that can block forever.

`fs:list` reads directories, `fs:read` reads files, and `fs:delete` removes a directory only if it is
empty."#;

    NOT_TEXT = "KB0610", "not a text file",
r#"The file contains NUL characters or invalid UTF-8, so it cannot be shown or edited as text. The message
contains its size.

Use a program through `shell:exec` (`file`, `xxd`, `strings`) to inspect it."#;

    EDIT_MISMATCH = "KB0611", "text to replace not found exactly once",
r#"`fs:edit` replaces `old` with `new`. `old` must occur exactly once in the file, including white space;
with `all: true`, at least once.

    {"path": "a.rs", "old": "x = 1", "new": "x = 2"}

Read the file again and copy the current text. Add a line before or after to make it unique, or use
`all: true`."#;

    FILE_FAILED = "KB0612", "file operation failed",
r#"The system refused to read or write: no permission, no space, a name that is too long, a read-only disk,
or a directory that is not empty. The message contains the error of the system.

Fix the cause and run the step again."#;

    BAD_PATTERN = "KB0613", "invalid regular expression",
r#"`fs:search` takes a regular expression in the syntax of the Rust crate `regex`: no look-around and no
back-references. It is matched line by line.

Wrong:

    {"pattern": "fn main("}

Fixed:

    {"pattern": "fn main\\("}

Escape `( ) [ ] { } . * + ? | ^ $ \` with a backslash to match them literally."#;

    COMMAND_FAILED = "KB0614", "command failed",
r#"A process of `shell:exec` had a non-zero exit code or was killed by a signal. Its output is part of the
result.

`Permission denied` for a file that you can read yourself comes from the sandbox: it denies access outside
the project. These settings permit it:

    sandbox: {read: [~/models], write: [~/.ccache]}

`command` runs under `bash -euo pipefail`: the first failing command ends it, and an unset variable is an
error. Append `|| true` to a command that may fail."#;

    COMMAND_TIMED_OUT = "KB0615", "command timeout",
r#"A process of `shell:exec` exceeded its timeout or its idle timeout, and was stopped with everything
that it had started. Its output until then is part of the result.

Set `timeoutMs` (limited by the timeout of the attempt), or run a smaller command. A server that the
command started in the background is stopped at the end of the call."#;

    COMMAND_NOT_STARTED = "KB0616", "command could not be started",
r#"The program does not exist or is not executable, or the working directory does not exist.

    {"argv": ["cargo", "test"]}           # a program with arguments, without a shell
    {"command": "cargo test | tail"}      # a shell command

Check the name, and that the program is on the `PATH` of `kb`."#;

    ADDRESS_REFUSED = "KB0617", "address not permitted",
r#"The host of the URL is, or resolves to, a loopback, link-local, private or otherwise non-public address;
or the URL is not plain `http` or `https`, contains a password, or names the port of another service.
Redirects are checked in the same way, and a redirect from `https` to `http` is refused.

Permit a host with its port in the settings:

    tools:
      http: {allowPrivate: ["localhost:8080"]}"#;

    HTTP_FAILED = "KB0618", "request failed without a response",
r#"The host name did not resolve, the connection was refused or reset, TLS failed, or the request timed
out. The message names the cause. A status such as 404 or 500 is a response and not this error.

In an `http` step, a retry policy repeats the request:

    retry: {max: 3, on: [transient, timeout], backoff: exponential}"#;

    UNKNOWN_REFERENCE = "KB0619", "unknown result reference",
r#"`output:read` received a `ref` that no earlier call of this attempt has.

The reference is printed where a long result was truncated; copy it unchanged. Results of earlier attempts
are not available: call the tool again."#;

    BAD_ENVIRONMENT = "KB0620", "environment variable not permitted",
r#"Some variables make programs execute other code: `LD_*`, `DYLD_*`, `BASH_ENV`, `NODE_OPTIONS`, `GIT_*`,
`PYTHONPATH` and similar ones. They cannot be set by the `env` of a call. `KB_*` variables are set by `kb`
and cannot be overridden.

Remove the variable. If the project needs it, set it in the `run:` text of the playbook."#;

    TOOL_STOPPED = "KB0621", "tool call was stopped",
r#"The step was cancelled, or `kb` ended, while the tool was running. Changes that it had made remain.

Nothing needs to be fixed; `kb run resume` continues the run."#;

    PLUGIN_FAILED = "KB0623", "plugin failed",
r#"The program of a plugin exited with a code other than 0, or was killed by a signal. The message has the
last line that it wrote to stderr; `kb run logs RUN STEP` shows the call.

A program reports a failure by an exit code other than 0 and a message on stderr:

    print("no such environment", file=sys.stderr); sys.exit(1)

`kb plugin test ID --input JSON` calls a plugin without a run."#;

    PLUGIN_OUTPUT = "KB0624", "unusable output of a plugin",
r#"The program of a plugin exited with 0, but its stdout is not one JSON value, is larger than 1 MiB, or does
not match `output.schema` of the plugin. Such an output is not shown to the specialist, and the call has
failed.

Wrong:

    print("deploying ...")                     # text before the JSON
    print(json.dumps({"url": url}))

Fixed:

    print("deploying ...", file=sys.stderr)
    print(json.dumps({"url": url}))"#;

    PROBE_FAILED = "KB0625", "probe failed",
r#"A plugin reported success, but one of its probes shows that the call did not have its effect: the
condition in `expect` is false, or the file that the probe reads does not exist. The call counts as failed.

    probes:
      - tool: fs:exists
        input: {path: "{{output.path}}"}
        expect: "{{result.exists}}"

Correct the program, or the probe if it asks for too much. A probe that cannot decide, because its tool
failed for another reason, does not fail the call: claims about the call are then `inconclusive`."#;

    RESPONSE_UNUSABLE = "KB0622", "unusable response",
r#"The response had more than five redirects or more than 8 MiB; or no HTTP client could be created on this
machine, for example because its certificates cannot be read.

Request less data (a page, a range, a filter), or download large files with a command:

    run: ["curl", "-fsSLo", "data.bin", "https://example.com/data.bin"]"#;
}

pages! { TABLE;
    POLICY_DENIED = "KB0601", "a policy forbids it",
        "A tool was called that this caller may not call, or on a path that the settings keep from it. \
         Nothing was done.\n\n\
         A specialist calls only the tools of its own whitelist, and the settings narrow that further:\n\n\
         \x20   tools:\n\
         \x20     security:\n\
         \x20       allowed_tools: [file_read]\n\
         \x20       file_read: {denied_paths: [\"**/.env\"]}\n\n\
         Put the tool into the specialist's `tools`, or widen `tools.security`, if that is what you want. \
         Nothing that a model says can.";
    UNKNOWN_TOOL = "KB0602", "no such tool",
        "A call names a tool that does not exist, or one that this version does not have yet.\n\n\
         The built-in tools are `fs:read`, `fs:list`, `fs:search`, `fs:exists`, `fs:write`, `fs:edit`, \
         `fs:delete`, `shell:exec`, `http:request` and `output:read`.\n\n\
         Models now and then make up names; they see this message and can choose another tool. In a \
         `tool:` step, correct the name.";
    BAD_ARGUMENTS = "KB0603", "the arguments do not fit the tool",
        "A call's arguments do not fit the tool's JSON Schema, or contradict each other. Every \
         violation is in the message, with its place.\n\n\
         \x20   tool: fs:read\n\
         \x20   input: {path: src/main.rs, startLine: 0}     # lines count from 1\n\n\
         Correct the arguments; names are written exactly as LANGUAGE §7 lists them.";
    NEEDS_APPROVAL = "KB0604", "a person must approve it",
        "The tool runs commands (level `critical`), or the settings say `requires_approval`, and nobody \
         approved it. Nothing was done.\n\n\
         A specialist may run commands unapproved only where the sandbox reaches \
         `sandbox.criticalUnapprovedAt` (`kernel` unless said); `kb doctor` shows the level, and \
         docs/security.md says what it holds.\n\n\
         Start the run with `--yes` to approve for this run, or lower the setting:\n\n\
         \x20   sandbox: {criticalUnapprovedAt: process}";
    PATH_OUTSIDE = "KB0605", "the path leads out of the workspace",
        "A path is absolute and elsewhere, climbs out with `..`, or goes through a link that leaves the \
         workspace (or leads nowhere). The kernel resolves paths, so the text alone does not decide.\n\n\
         \x20   {\"path\": \"../../etc/passwd\"}     # refused\n\
         \x20   {\"path\": \"src/main.rs\"}          # fine\n\n\
         Use a path inside the workspace. A link with an absolute target counts as leaving, wherever it points.";
    PATH_PROTECTED = "KB0606", "tools may not change this place",
        "Definitions, settings and the repository's own data are not written by tools, so that a step \
         cannot widen its own rights: `playbooks/`, `workflows/`, `agents/` at the root, `.kb/` and \
         `.git` anywhere, and the state of `kb`. This holds before they exist, through links, and for \
         every spelling that some file system takes for the same.\n\n\
         Where the kernel can, these places are read-only to a specialist's commands as well. One that \
         changed a definition, a setting, or a hook or the configuration of a repository all the same \
         has failed, whatever ignore rules or `evidence` say; nothing is put back. So has one that \
         made a repository: `git init` and `git clone` are for a `run:` step.\n\n\
         Write somewhere else and let a person move it.";
    BAD_PATH = "KB0607", "not a path",
        "A path is empty or holds a NUL character, or a glob cannot be read.\n\n\
         \x20   {\"path\": \"\"}             # refused; the root is \".\"\n\
         \x20   {\"glob\": \"src/[a\"}       # the bracket is not closed\n\n\
         Give a path relative to the workspace. Globs know `*`, `?`, `**`, `[a-z]` and `{a,b}`.";
    PATH_MISSING = "KB0608", "nothing is there",
        "A path names no file or folder.\n\n\
         Paths are relative to the workspace's root, not to the folder of an earlier command. \
         `fs:list` shows what is there, `fs:exists` asks without failing.";
    PATH_WRONG_KIND = "KB0609", "not that kind of file",
        "A file was asked for where a directory is, or the reverse, or a pipe, socket or device is \
         there; tools do not open those, since that may wait for ever.\n\n\
         `fs:list` reads directories, `fs:read` files; `fs:delete` removes a directory only when it is empty.";
    NOT_TEXT = "KB0610", "not a text file",
        "The file holds bytes that are no text (NUL characters or invalid UTF-8), so showing it would \
         tell nothing and editing it would break it. The message says how large it is.\n\n\
         Use a program through `shell:exec` (`file`, `xxd`, `strings`) if its content matters.";
    EDIT_MISMATCH = "KB0611", "the text to replace is not there, or not once",
        "`fs:edit` replaces `old` by `new`, and `old` must stand in the file exactly once, white space \
         included; with `all: true`, at least once.\n\n\
         \x20   {\"path\": \"a.rs\", \"old\": \"x = 1\", \"new\": \"x = 2\"}\n\n\
         Read the file again and copy the text as it stands; add a line before or after to make it \
         unique, or say `all: true`.";
    FILE_FAILED = "KB0612", "the system refused a file operation",
        "Reading or writing failed in the system: no permission, no space, too long a name, a read-only \
         disk, a directory that is not empty. The message has the system's words.\n\n\
         Mend what they name and run the step again.";
    BAD_PATTERN = "KB0613", "not a regular expression",
        "`fs:search` takes a regular expression in Rust's syntax: no look-around, no back-references; \
         it is matched line by line.\n\n\
         \x20   {\"pattern\": \"fn main(\"}        # the parenthesis is not closed\n\
         \x20   {\"pattern\": \"fn main\\\\(\"}      # fine\n\n\
         Escape `( ) [ ] { } . * + ? | ^ $ \\\\` with a backslash to search for them as they are.";
    COMMAND_FAILED = "KB0614", "a command ended with an error",
        "A process of `shell:exec` ended with another code than 0, or by a signal. Its output is in the \
         result.\n\n\
         `Permission denied` on a file that you may read yourself is the sandbox: it closes what lies \
         outside of the project. `sandbox: {read: [~/models], write: [~/.ccache]}` in the settings opens it.\n\n\
         `command` runs under `bash -euo pipefail`: the first command that fails ends it, and an unset \
         variable is an error. Append `|| true` where a failure is expected.";
    COMMAND_TIMED_OUT = "KB0615", "a command took too long",
        "A process of `shell:exec` was stopped, with everything that it had started, because its time \
         ran out or it was silent for too long. What it wrote until then is in the result.\n\n\
         Give `timeoutMs` (it never goes beyond the attempt's own timeout), or make the command smaller. \
         A server that is left running in the background ends with the call.";
    COMMAND_NOT_STARTED = "KB0616", "a command could not be started",
        "The program is not there, is not executable, or its working directory is gone.\n\n\
         \x20   {\"argv\": [\"cargo\", \"test\"]}     # a program and its arguments, no shell\n\
         \x20   {\"command\": \"cargo test | tail\"}  # a shell line\n\n\
         Check the name, and that it is on the PATH that `kb` was started with.";
    ADDRESS_REFUSED = "KB0617", "requests may not go there",
        "A URL's host is, or resolves to, a loopback, link-local, private or otherwise non-public \
         address; or the URL is not plain http(s), carries a password, or names the port of another \
         service. Redirects are held to the same, and none goes from https to http.\n\n\
         Allow a host by name, with its port, in the settings:\n\n\
         \x20   tools:\n\
         \x20     http: {allowPrivate: [\"localhost:8080\"]}";
    HTTP_FAILED = "KB0618", "a request got no answer",
        "The name did not resolve, the connection was refused or cut, TLS failed, the time ran out, \
         or the connection broke in the middle. A status such as 404 or 500 is an answer, not this.\n\n\
         The message says which. Trying again may help; in an `http` step a `retry` for `transient` does it:\n\n\
         \x20   retry: {max: 3, on: [transient, timeout], backoff: exponential}";
    UNKNOWN_REFERENCE = "KB0619", "no such result to read on in",
        "`output:read` was given a `ref` that no earlier call of this attempt has.\n\n\
         The reference stands where a long result was cut; copy it as it is. Results of earlier \
         attempts are not kept: call the tool again.";
    BAD_ENVIRONMENT = "KB0620", "this variable is not set by a value",
        "Some variables make programs run other code: `LD_*`, `DYLD_*`, `BASH_ENV`, `NODE_OPTIONS`, \
         `GIT_*`, `PYTHONPATH` and their like. They never come from a call's `env`; nor do `KB_*`, \
         which are the runtime's own.\n\n\
         Leave it out. What your project really needs goes into the playbook's own `run:` text.";
    TOOL_STOPPED = "KB0621", "the call was stopped",
        "The step was cancelled, or the runtime ended, while the tool was at work. What it had done \
         until then stays.\n\n\
         Nothing is to be mended; `kb run resume` goes on.";
    RESPONSE_UNUSABLE = "KB0622", "an answer that cannot be used",
        "A request was answered, but with more than five redirects or with more than 8 MiB; or no client \
         could be made on this machine, for instance because its certificates cannot be read.\n\n\
         Ask for less (a page, a range, a filter), or fetch large files with a command:\n\n\
         \x20   run: [\"curl\", \"-fsSLo\", \"data.bin\", \"https://example.com/data.bin\"]";
}

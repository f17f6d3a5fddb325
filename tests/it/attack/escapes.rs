//! Commands of a specialist that try to get out of the sandbox, through the binary with a scripted
//! model: as the user of the test and, if that is root, as an ordinary user too. A way out has
//! worked if a file outside differs afterwards, if a program of the author executed something that
//! a command planted, or if a command printed a text that only exists outside.

use crate::proof;
use crate::running::{Running, Start};
use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The text that exists only outside.
const MARK: &str = "REACHED-4711";

/// Ways out: a name, and a command of `bash`. `$OUT` is the home directory of the author, which
/// contains the project; `$PID` is a process outside, `$PORT` a port of a server outside, `$NAME` the end of names of sockets.
const FILES: &[(&str, &str)] = &[
    ("write a file", "echo x > $OUT/victim"),
    ("append to a file", "echo x >> $OUT/victim"),
    ("create a file", "echo x > $OUT/planted"),
    ("remove a file", "rm -f $OUT/victim"),
    ("replace a file", "echo x > v && mv v $OUT/victim"),
    ("link a file", "ln $OUT/victim hard && echo x > hard"),
    ("write through a link", "ln -sf $OUT/victim soft && echo x > soft"),
    ("write through /proc", "echo x > /proc/self/root$OUT/victim"),
    ("chmod a file", "chmod 777 $OUT/victim"),
    ("chmod a private key", "chmod 644 $OUT/.ssh/id"),
    ("chmod the state folder", "chmod 000 $OUT/state"),
    ("chmod the home directory", "chmod 777 $OUT"),
    ("chmod through a link", "ln -sf $OUT/victim l && chmod 777 l"),
    ("chown a file", "chown 1:1 $OUT/victim"),
    ("chown a link", "chown -h 1:1 $OUT/link"),
    ("setuid", "chmod 4755 $OUT/victim"),
    ("touch a file", "touch -d 2001-01-01 $OUT/victim"),
    ("touch through /proc", "touch -d 2001-01-01 /proc/self/root$OUT/victim"),
    (
        "xattr",
        "python3 -c 'import os; os.setxattr(os.environ[\"OUT\"] + \"/victim\", \"user.x\", b\"x\")'",
    ),
    ("read a file", "cat $OUT/victim"),
    ("read a private key", "cat $OUT/.ssh/id"),
    ("read a token in a cache", "cat $OUT/.cache/tokens/t"),
    ("read through a link", "ln -sf $OUT/victim r && cat r"),
    ("copy a file", "cp $OUT/victim c && cat c"),
    ("list the home directory", "ls -la $OUT | grep victim && echo $MARK"),
    ("write into a cache", "mkdir -p $OUT/.cache/x && echo x > $OUT/.cache/x/y"),
    ("write a file of the shell", "echo 'touch $HOME/pwned' >> $OUT/.bashrc"),
    ("use another temporary directory", "ls $TMPDIR/../.. | grep steps && echo $MARK"),
    ("shared memory", "cat /dev/shm/kb-escape-$NAME"),
    ("write shared memory", "echo x > /dev/shm/kb-escape-$NAME"),
    ("mount over a file", "mount --bind /dev/null $OUT/victim"),
    ("mount in a user namespace", "unshare -Urm sh -c 'umount -l /; cat $OUT/victim'"),
    ("pivot_root", "mkdir -p p/q && pivot_root p p/q"),
    (
        "chroot out",
        "python3 -c 'import os; os.chroot(\"/proc/1/root\"); print(open(os.environ[\"OUT\"] + \"/victim\").read())'",
    ),
    ("read /etc/shadow", "head -c 4 /etc/shadow && echo $MARK"),
    ("list private keys of the system", "ls /etc/ssl/private && echo $MARK"),
    ("device of the disk", "mknod disk b 254 0 && head -c 4 disk && echo $MARK"),
];

const PROCESSES: &[(&str, &str)] = &[
    ("kill", "kill -KILL $PID"),
    ("kill the worker", "kill -KILL 1; kill -STOP 1"),
    ("prlimit", "prlimit --pid $PID --cpu=1:1"),
    ("prlimit of the parent", "prlimit --pid $PPID --fsize=0 && echo $MARK"),
    ("prlimit of the worker", "prlimit --pid 1 --nofile=3:3 && echo $MARK"),
    ("renice", "renice -n 19 -p $PID"),
    ("renice the worker", "renice -n 19 -p 1 && echo $MARK"),
    ("renice the user", "renice -n 19 -u $(id -u) && echo $MARK"),
    ("scheduling", "chrt -i -p 0 $PID; chrt -i -p 0 1 && echo $MARK"),
    ("affinity", "taskset -p 1 1 && echo $MARK"),
    ("ioprio", "ionice -c 3 -p 1 && echo $MARK"),
    ("environment of a process", "tr '\\0' '\\n' < /proc/$PID/environ"),
    ("root of a process", "cat /proc/$PID/root$OUT/victim"),
    ("root of the worker", "cat /proc/1/root$OUT/victim"),
    ("memory of the worker", "head -c 1 /proc/1/mem && echo $MARK"),
    ("descriptors of the worker", "for fd in /proc/1/fd/*; do readlink $fd && echo $MARK; done"),
    ("enter namespaces", "nsenter -t 1 -m cat $OUT/victim"),
    ("new namespaces", "unshare -Ur true && echo $MARK"),
    (
        "ptrace",
        "python3 -c 'import ctypes, os; print(\"'$MARK'\") if ctypes.CDLL(None).ptrace(16, int(os.environ[\"PID\"]), 0, 0) == 0 else 0'",
    ),
    (
        "pidfd",
        "python3 -c 'import os; os.pidfd_open(int(os.environ[\"PID\"])); print(\"'$MARK'\")'",
    ),
    (
        "keyring",
        "python3 -c 'import ctypes; k = ctypes.CDLL(None).syscall(250, 0, -4, 1); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "add a key",
        "python3 -c 'import ctypes; k = ctypes.CDLL(None).syscall(248, b\"user\", b\"kb\", b\"x\", 1, -4); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "bpf",
        "python3 -c 'import ctypes; b = bytes(128); k = ctypes.CDLL(None).syscall(321, 0, b, 128); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "userfaultfd",
        "python3 -c 'import ctypes; k = ctypes.CDLL(None).syscall(323, 1); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    ("System V shared memory", "ipcs -m | grep -i 0x4b420001 && echo $MARK"),
    (
        "attach System V shared memory",
        "python3 -c 'import ctypes; c = ctypes.CDLL(None); k = c.shmget(0x4b420001, 64, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "System V semaphores",
        "python3 -c 'import ctypes; c = ctypes.CDLL(None); k = c.semget(0x4b420001, 1, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "System V message queues",
        "python3 -c 'import ctypes; c = ctypes.CDLL(None); k = c.msgget(0x4b420001, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "search keyrings",
        "python3 -c 'import ctypes; k = ctypes.CDLL(None).syscall(249, b\"user\", b\"kb-escape\", 0, -4); print(\"'$MARK'\") if k >= 0 else 0'; cat /proc/keys | grep kb-escape && echo $MARK",
    ),
    (
        "process_vm_readv",
        "python3 -c 'import ctypes, os; b = ctypes.create_string_buffer(8); v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 8); r = (ctypes.c_size_t * 2)(0x400000, 8); k = ctypes.CDLL(None).process_vm_readv(int(os.environ[\"PID\"]), v, 1, r, 1, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "kcmp",
        "python3 -c 'import ctypes, os; p = int(os.environ[\"PID\"]); k = ctypes.CDLL(None).syscall(312, p, p, 0, 0, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "process_madvise",
        "python3 -c 'import ctypes, os\nc = ctypes.CDLL(None)\nfor p in (int(os.environ[\"PID\"]), 1):\n  try: f = os.pidfd_open(p)\n  except OSError: continue\n  v = (ctypes.c_size_t * 2)(0x400000, 4096); k = c.syscall(440, f, v, 1, 21, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "pidfd_getfd",
        "python3 -c 'import ctypes, os\nc = ctypes.CDLL(None)\nfor p in (int(os.environ[\"PID\"]), 1):\n  try: f = os.pidfd_open(p)\n  except OSError: continue\n  k = c.syscall(438, f, 0, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "process_mrelease",
        "python3 -c 'import ctypes, os\nc = ctypes.CDLL(None)\nfor p in (int(os.environ[\"PID\"]), 1):\n  try: f = os.pidfd_open(p)\n  except OSError: continue\n  k = c.syscall(448, f, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "pidfd_send_signal",
        "python3 -c 'import ctypes, os\nf = os.pidfd_open(int(os.environ[\"PID\"]))\nk = ctypes.CDLL(None).syscall(424, f, 18, 0, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "sched_setattr",
        "python3 -c 'import ctypes, os\nc = ctypes.CDLL(None)\nfor p in (int(os.environ[\"PID\"]), 1):\n  a = (ctypes.c_uint32 * 14)(48, 3); k = c.syscall(314, p, a, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "prlimit, the system call",
        "python3 -c 'import ctypes, os\nc = ctypes.CDLL(None)\nfor p in (int(os.environ[\"PID\"]), 1):\n  l = (ctypes.c_ulong * 2)(1, 1); k = c.syscall(302, p, 1, l, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "process_vm_writev",
        "python3 -c 'import ctypes, os\nc = ctypes.CDLL(None)\nfor p in (int(os.environ[\"PID\"]), 1):\n  b = ctypes.create_string_buffer(8); v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 8); r = (ctypes.c_size_t * 2)(0x400000, 8); k = c.syscall(311, p, v, 1, r, 1, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "migrate_pages",
        "python3 -c 'import ctypes, os\nc = ctypes.CDLL(None)\nfor p in (int(os.environ[\"PID\"]), 1):\n  k = c.syscall(256, p, 0, 0, 0); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
    (
        "io_uring",
        "python3 -c 'import ctypes; k = ctypes.CDLL(None).syscall(425, 1, bytes(120)); print(\"'$MARK'\") if k >= 0 else 0'",
    ),
];

const NETWORK: &[(&str, &str)] = &[
    ("TCP", "exec 3<>/dev/tcp/127.0.0.1/$PORT && cat <&3"),
    ("TCP over IPv6", "exec 3<>/dev/tcp/::ffff:127.0.0.1/$PORT && cat <&3"),
    ("the Internet", "exec 3<>/dev/tcp/1.1.1.1/53 && echo $MARK"),
    ("UDP", "exec 3<>/dev/udp/1.1.1.1/53 && echo x >&3 && echo $MARK"),
    ("metadata service", "exec 3<>/dev/tcp/169.254.169.254/80 && echo $MARK"),
    (
        "Unix socket",
        "python3 -c 'import socket, os; s = socket.socket(1); s.connect(os.environ[\"OUT\"] + \"/socket\"); print(s.recv(99))'",
    ),
    (
        "Unix socket in /tmp",
        "python3 -c 'import socket, os; s = socket.socket(1); s.connect(\"/tmp/kb-escape-\" + os.environ[\"NAME\"]); print(s.recv(99))'",
    ),
    (
        "abstract socket",
        "python3 -c 'import socket, os; s = socket.socket(1); s.connect(\"\\0kb-escape-\" + os.environ[\"NAME\"]); print(s.recv(99))'",
    ),
    ("vsock", "python3 -c 'import socket; socket.socket(40, 1); print(\"'$MARK'\")'"),
    ("packet socket", "python3 -c 'import socket; socket.socket(17, 3); print(\"'$MARK'\")'"),
];

/// With `network: none`, sockets for IPv4 and IPv6 cannot even be created.
const SOCKETS: &[(&str, &str)] = &[
    ("an IPv4 socket", "python3 -c 'import socket; socket.socket(2, 1); print(\"'$MARK'\")'"),
    ("an IPv6 socket", "python3 -c 'import socket; socket.socket(10, 2); print(\"'$MARK'\")'"),
];

/// A hook or command that shows that it was executed by the author.
const PLANT: &str = "printf '#!/bin/sh\\ntouch $HOME/pwned\\n' >";
const GIT: &[(&str, &str)] = &[
    ("hook", "PLANT .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"),
    (
        "hook by renaming .git",
        "mv .git g; cp -r g .git; PLANT .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    ),
    (
        "hook by copying .git",
        "cp -r .git g; PLANT g/hooks/pre-commit; chmod +x g/hooks/pre-commit; rm -rf .git; mv g .git",
    ),
    ("exchange", "cp -r .git g; mv --exchange g .git"),
    ("hook in core.hooksPath", "PLANT hooks/own/pre-commit; chmod +x hooks/own/pre-commit"),
    (
        "renaming the parent of core.hooksPath",
        "mv hooks h; mkdir -p hooks/own; PLANT hooks/own/pre-commit; chmod +x hooks/own/pre-commit",
    ),
    ("git config", "git config core.fsmonitor 'touch $HOME/pwned; false'"),
    (
        "core.hooksPath",
        "mkdir h2; PLANT h2/pre-commit; chmod +x h2/pre-commit; git config core.hooksPath h2",
    ),
    ("config by replacing it", "cp .git/config c; echo '[core]' >> c; mv c .git/config"),
    (
        "included settings",
        "printf '[core]\\nfsmonitor = touch $HOME/pwned; false\\n' >> tools/git-settings",
    ),
    ("command of a filter", "echo 'touch $HOME/pwned; cat' > tools/clean.sh"),
    (
        "commondir",
        "mkdir e; cp -r .git/. e; printf '[core]\\nfsmonitor = touch $HOME/pwned; false\\n' >> e/config; echo ../e > .git/commondir",
    ),
    (
        "index",
        "git update-index --add --cacheinfo 100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,planted && echo $MARK",
    ),
    (
        "info/attributes",
        "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes && echo $MARK",
    ),
    (".gitattributes", "echo '* filter=x' > .gitattributes"),
    ("playbook", "echo x >> .kb/playbooks/p.yml"),
    ("linked definition", "echo x >> shared/linked.yml"),
    ("renaming linked definitions", "mv shared s; mkdir shared; echo x > shared/linked.yml"),
    ("settings of kb", "echo 'env: {}' > .kb/kb.config.yml"),
    (".envrc", "echo 'touch $HOME/pwned' >> .envrc"),
    ("hook in .husky", "PLANT .husky/pre-commit; chmod +x .husky/pre-commit"),
    ("renaming .husky", "mv .husky h; mkdir .husky; PLANT .husky/pre-commit; chmod +x .husky/*"),
    ("program of core.fsmonitor", "echo 'touch $HOME/pwned' >> tools/monitor.sh"),
    ("replacing the program of core.fsmonitor", "PLANT m; chmod +x m; mv m tools/monitor.sh"),
    ("renaming the folder of a program", "mv tools t; cp -r t tools; PLANT tools/monitor.sh"),
    ("attributes that choose a filter", "echo 'a.txt filter=trap' >> .gitattributes"),
    ("replacing attributes", "echo 'a.txt filter=trap' > g; mv g .gitattributes"),
];

/// What a test sets up outside, and takes down at its end.
struct Outside {
    scratch: Scratch,
    victim: Running,
    /// The end of the names of sockets and shared memory. Numbers of processes are used again, and a socket
    /// stays until the test ends.
    name: String,
    port: u16,
    user: Option<u32>,
}

impl Outside {
    fn new(user: Option<u32>, files: &[(&str, &str)]) -> Outside {
        let scratch = Scratch::new(files);
        let home = scratch.root().parent().unwrap().to_owned();
        for (path, text) in [
            ("victim", MARK),
            (".ssh/id", MARK),
            (".cache/tokens/t", MARK),
            (".bashrc", ""),
            ("state/x", ""),
        ] {
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("victim", home.join("link")).unwrap();
        let mut victim = Command::new("sleep");
        victim.arg("600").env("MARK", MARK).stdout(Stdio::null());
        if let Some(user) = user {
            use std::os::unix::process::CommandExt as _;
            victim.uid(user).gid(user);
        }
        let victim = victim.start_for(std::time::Duration::from_secs(600));
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        std::fs::write(format!("/dev/shm/kb-escape-{name}"), MARK).unwrap();
        let paths = [home.join("socket"), format!("/tmp/kb-escape-{name}").into()];
        for path in paths {
            // A test that was killed leaves its socket.
            let _ = std::fs::remove_file(&path);
            answer_unix(UnixListener::bind(&path).unwrap());
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        let address = SocketAddr::from_abstract_name(format!("kb-escape-{name}")).unwrap();
        answer_unix(UnixListener::bind_addr(&address).unwrap());
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in server.incoming().flatten() {
                let _ = (&stream).write_all(MARK.as_bytes());
            }
        });
        let make = "import ctypes; c = ctypes.CDLL(None); k = 0x4b420001; \
                    c.shmget(k, 64, 0o1666); c.semget(k, 1, 0o1666); c.msgget(k, 0o1666)";
        let _ = Command::new("python3").args(["-c", make]).finish_if_found();
        if let Some(user) = user {
            let all = format!("{user}:{user}");
            assert!(Command::new("chown").args(["-hR", &all]).arg(&home).finish().status.success());
        }
        std::fs::set_permissions(home.join(".ssh/id"), std::fs::Permissions::from_mode(0o600))
            .unwrap();
        Outside { scratch, victim, name, port, user }
    }

    fn command(&self, program: &str) -> Command {
        self.scratch.program(self.user, program)
    }

    fn ok(&self, program: &str, args: &[&str]) {
        let done = self.command(program).args(args).finish();
        assert!(done.status.success(), "{program} {args:?}: {done:?}");
    }

    /// Everything about the files outside of the project and of the state of `kb` that may not
    /// change.
    fn files(&self) -> BTreeMap<String, String> {
        let home = self.scratch.root().parent().unwrap().to_owned();
        let mut found = BTreeMap::new();
        let paths = [
            "",
            "victim",
            ".ssh",
            ".ssh/id",
            ".cache",
            ".cache/tokens/t",
            ".bashrc",
            "state",
            "link",
            "planted",
            "pwned",
        ];
        for path in paths {
            let at = home.join(path);
            let Ok(stat) = at.symlink_metadata() else { continue };
            let content =
                std::fs::read(&at).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            // `kb` itself uses the home directory for temporary files, and the state folder.
            let times = if stat.is_dir() { 0 } else { stat.mtime() };
            let facts = (stat.mode(), stat.uid(), times, content.unwrap_or_default());
            found.insert(path.to_owned(), format!("{facts:?}"));
        }
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", self.victim.id()));
        found.insert("limits".into(), limits.unwrap());
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.victim.id())).unwrap();
        let nice = stat.split_whitespace().skip(17).take(2).collect::<Vec<_>>().join(" ");
        found.insert("priority".into(), nice);
        found
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(format!("/dev/shm/kb-escape-{}", self.name));
        let _ = std::fs::remove_file(format!("/tmp/kb-escape-{}", self.name));
    }
}

fn answer_unix(listener: UnixListener) {
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = (&stream).write_all(MARK.as_bytes());
        }
    });
}

const PLAYBOOK: &str = "schema: kb.playbook/1
id: p
steps:
  - {id: work, agent: worker, task: try, verify: {claims: none}}
";
const SPECIALIST: &str = "schema: kb.specialist/1
id: worker
role: You try to get out.
tools: [shell:exec, fs:write]
limits: {maxSteps: 200, maxToolCalls: 500, timeout: 10m}
";

/// The users to try as: this one, and an ordinary one if this is root.
fn users() -> Vec<Option<u32>> {
    let is_root = rustix::process::geteuid().is_root();
    let binary = Path::new(env!("CARGO_BIN_EXE_kb"));
    let is_open = |path: &Path| path.metadata().is_ok_and(|found| found.mode() & 0o005 == 0o005);
    if is_root && binary.ancestors().filter(|path| !path.as_os_str().is_empty()).all(is_open) {
        vec![None, Some(65_534)]
    } else {
        vec![None]
    }
}

/// Whether this machine has everything that the sandbox uses.
fn is_complete() -> bool {
    let scratch = Scratch::new(&[]);
    let doctor = scratch.kb(&["doctor"]).out;
    let complete = doctor.contains("pidNamespace") && !doctor.contains("without namespaces");
    if !complete || !doctor.contains("Landlock 6") && !doctor.contains("Landlock 7") {
        eprintln!("skipped: this machine lacks a part of the sandbox:\n{doctor}");
    }
    complete
}

/// Runs commands as calls of a scripted model. Returns what they printed, by name.
fn run(outside: &Outside, rows: &[(&str, String)]) -> BTreeMap<String, String> {
    let (pid, name, port) = (outside.victim.id(), &outside.name, outside.port);
    let home = outside.scratch.root().parent().unwrap().display().to_string();
    let calls: Vec<Value> = rows
        .iter()
        .enumerate()
        .map(|(number, (_, command))| {
            let command = format!(
                "export OUT={home} PID={pid} NAME={name} PORT={port} MARK={MARK}; ({command}) > out-{number} 2>&1 || true"
            );
            json!({"tool": "shell:exec", "args": {"argv": ["bash", "-c", command], "timeoutMs": 20_000}})
        })
        .collect();
    let turns: Vec<Value> = calls.chunks(8).map(|calls| json!({"calls": calls})).collect();
    let turns: Vec<Value> =
        turns.into_iter().chain([json!({"output": {"summary": "done"}})]).collect();
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
    outside.scratch.write("script.yml", &script.to_string());
    let done = outside
        .command(env!("CARGO_BIN_EXE_kb"))
        .args(["playbook", "run", "p", "--script", "script.yml"])
        .finish();
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    rows.iter()
        .enumerate()
        .map(|(number, (name, _))| {
            let path = outside.scratch.root().join(format!("out-{number}"));
            let printed =
                std::fs::read(path).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
            let printed = String::from_utf8_lossy(&printed).into_owned();
            let is_wrong = ["SyntaxError", "IndentationError", "NameError", "syntax error"];
            assert!(!is_wrong.iter().any(|text| printed.contains(text)), "{name}: {printed}");
            ((*name).to_owned(), printed)
        })
        .collect()
}

/// A sandbox in which ways out are tried.
struct Level {
    name: &'static str,
    settings: &'static str,
    specialist: &'static str,
    /// Names of the rows that `docs/security.md` does not promise at this level.
    open: &'static [&'static str],
}

const KERNEL: Level = Level { name: "kernel", settings: "{}", specialist: "", open: &[] };

/// Landlock and the filter without namespaces: what `kb doctor` lists as missing is open.
const GROUP: Level = Level {
    name: "kernel without namespaces",
    settings: "sandbox: {processes: group}",
    specialist: "",
    open: &[
        // Modes, owners and times.
        "chmod a file",
        "chmod a private key",
        "chmod the state folder",
        "chmod the home directory",
        "chmod through a link",
        "chown a file",
        "chown a link",
        "setuid",
        "touch a file",
        "touch through /proc",
        "xattr",
        // Memory that other processes share.
        "shared memory",
        "write shared memory",
        "System V shared memory",
        // Processes that Landlock does not cover. There is no worker.
        "kill the worker",
        "pidfd",
        // Sockets and the network.
        "TCP",
        "TCP over IPv6",
        "the Internet",
        "UDP",
        "metadata service",
        "Unix socket",
        "Unix socket in /tmp",
    ],
};

const NO_NETWORK: Level =
    Level { name: "network: none", settings: "{}", specialist: "network: none\n", open: &[] };
const OPEN_NETWORK: Level = Level {
    name: "network: open",
    settings: "{}",
    specialist: "network: open\n",
    open: &["TCP", "TCP over IPv6", "the Internet", "UDP", "metadata service", "an IPv4 socket"],
};

/// What a command gets at a level: what it printed, and whether anything outside differs.
fn tried(
    level: &Level,
    user: Option<u32>,
    rows: &[(&str, &str)],
) -> (BTreeMap<String, String>, bool) {
    let specialist = format!("{SPECIALIST}{}", level.specialist);
    let outside = Outside::new(
        user,
        &[
            (".kb/playbooks/p.yml", PLAYBOOK),
            (".kb/specialists/worker.yml", &specialist),
            (".kb/kb.config.yml", level.settings),
        ],
    );
    let before = outside.files();
    let rows: Vec<(&str, String)> =
        rows.iter().map(|(name, command)| (*name, (*command).to_owned())).collect();
    let printed = run(&outside, &rows);
    (printed, outside.files() != before)
}

/// Tries all rows that hold at each level. The quick form tries them together, and one by one if
/// anything outside has changed; the full form always one by one.
fn try_all(what: &'static str, rows: &[(&str, &str)], levels: &[Level]) {
    if !is_complete() {
        return;
    }
    for level in levels {
        let is_held = |row: &&(&str, &str)| !level.open.contains(&row.0);
        let held: Vec<(&str, &str)> = rows.iter().filter(is_held).copied().collect();
        let mut escaped = Vec::new();
        for user in users() {
            let mut each = |rows: &[(&str, &str)]| {
                let (printed, changed) = tried(level, user, rows);
                let reached = printed.iter().filter(|(_, text)| text.contains(MARK));
                let reached: Vec<String> =
                    reached.map(|(name, text)| format!("{name} as {user:?}: {text}")).collect();
                let change = changed.then(|| format!("{} as {user:?}: outside differs", rows[0].0));
                let found = reached.into_iter().chain(change).collect::<Vec<_>>();
                let is_free = found.is_empty();
                if rows.len() == 1 {
                    escaped.extend(found);
                }
                is_free
            };
            if proof::is_full() || !each(&held) {
                held.chunks(1).for_each(|row| _ = each(row));
            }
        }
        assert!(escaped.is_empty(), "{what} at level {}: {escaped:#?}", level.name);
        let tried = held.len() * users().len();
        let not_promised = (rows.len() - held.len()) * users().len();
        proof::record(
            &format!("{what}, {}", level.name),
            None,
            [("tried", tried), ("escaped", 0), ("not promised", not_promised)],
        );
    }
}

#[test]
fn commands_change_and_read_no_file_outside() {
    try_all("escapes: files", FILES, &[KERNEL, GROUP]);
}

#[test]
fn commands_reach_no_process_outside() {
    try_all("escapes: processes", PROCESSES, &[KERNEL, GROUP]);
}

#[test]
fn commands_reach_no_server_outside() {
    try_all("escapes: network", NETWORK, &[KERNEL, GROUP, OPEN_NETWORK]);
    let sockets = [NETWORK, SOCKETS].concat();
    try_all("escapes: network", &sockets, &[NO_NETWORK]);
}

/// `network: open` permits what the other two refuse.
#[test]
fn an_open_network_reaches_servers() {
    if !is_complete() {
        return;
    }
    let tcp: Vec<_> = NETWORK.iter().filter(|(name, _)| *name == "TCP").copied().collect();
    let (printed, _) = tried(&OPEN_NETWORK, None, &tcp);
    assert!(printed["TCP"].contains(MARK), "{printed:?}");
}

/// The programs of the author that run afterwards execute nothing that a command planted.
#[test]
fn git_of_the_author_executes_nothing_of_a_command() {
    if !is_complete() {
        return;
    }
    let mut tried = 0;
    for user in users() {
        for (name, command) in GIT {
            let command = command.replace("PLANT", PLANT);
            let outside = Outside::new(
                user,
                &[
                    (".kb/playbooks/p.yml", PLAYBOOK),
                    (".kb/specialists/worker.yml", SPECIALIST),
                    ("shared/linked.yml", "schema: kb.specialist/1\nid: linked\nrole: x\n"),
                    ("hooks/own/post-merge", "#!/bin/sh\n"),
                    ("tools/git-settings", "[user]\nname = a\n"),
                    ("tools/clean.sh", "cat\n"),
                    ("tools/monitor.sh", "#!/bin/sh\nexit 1\n"),
                    (".husky/post-merge", "#!/bin/sh\n"),
                    (".gitattributes", "*.bin binary\n"),
                    (".envrc", ""),
                    ("a.txt", "a\n"),
                ],
            );
            let root = outside.scratch.root();
            std::os::unix::fs::symlink(
                "../../shared/linked.yml",
                root.join(".kb/specialists/linked.yml"),
            )
            .unwrap();
            let monitor = root.join("tools/monitor.sh");
            let mut mode = monitor.metadata().unwrap().permissions();
            mode.set_mode(0o755);
            std::fs::set_permissions(&monitor, mode).unwrap();
            outside.ok("git", &["init", "-q"]);
            outside.ok("git", &["config", "user.email", "a@example.org"]);
            outside.ok("git", &["config", "include.path", "../tools/git-settings"]);
            outside.ok("git", &["config", "filter.x.clean", "sh ./tools/clean.sh"]);
            if name.contains("core.hooksPath") {
                outside.ok("git", &["config", "core.hooksPath", "hooks/own"]);
            }
            if name.contains(".husky") {
                outside.ok("git", &["config", "core.hooksPath", ".husky"]);
            }
            if name.contains("program") {
                outside.ok("git", &["config", "core.fsmonitor", "tools/monitor.sh"]);
            }
            if name.contains("attributes") {
                outside.ok("git", &["config", "filter.trap.clean", "touch $HOME/pwned; cat"]);
            }
            outside.ok("git", &["add", "a.txt"]);
            let before = outside.files();
            let kept = [".kb/playbooks/p.yml", "shared/linked.yml", ".git/config", ".envrc"];
            let kept = kept.map(|path| (path, std::fs::read_to_string(root.join(path)).unwrap()));
            let printed = run(&outside, &[(name, command)]);
            let text = &printed[*name];
            assert!(!text.contains(MARK), "as {user:?}, `{name}` worked: {text}");
            std::fs::write(root.join("a.txt"), "b\n").unwrap();
            for args in [&["add", "a.txt"][..], &["commit", "-qm", "x"], &["status"]] {
                let _ = outside.command("git").args(args).finish();
            }
            assert_eq!(outside.files(), before, "as {user:?}, `{name}`: {text}");
            for (path, text) in kept {
                assert_eq!(std::fs::read_to_string(root.join(path)).unwrap(), text, "`{name}`");
            }
            assert!(!root.join(".git/commondir").exists());
            tried += 1;
        }
    }
    proof::record("escapes: git and definitions", None, [("tried", tried), ("escaped", 0)]);
}

/// Limits that a command sets for itself or tries to set for its parents do not reach `kb` and later steps.
#[test]
fn limits_of_a_command_end_with_it() {
    if !is_complete() {
        return;
    }
    let later =
        "  - {id: later, dependsOn: work, run: 'head -c 300000 /dev/zero > big; exec 9< big'}\n";
    for processes in ["pidNamespace", "group"] {
        let outside = Outside::new(
            None,
            &[
                (".kb/playbooks/p.yml", &format!("{PLAYBOOK}{later}")),
                (".kb/specialists/worker.yml", SPECIALIST),
                (".kb/kb.config.yml", &format!("sandbox: {{processes: {processes}}}")),
            ],
        );
        let limits = "for p in $PPID 1 $$; do prlimit --pid $p --fsize=0:0; prlimit --pid $p --cpu=1:1; \
            prlimit --pid $p --nofile=9:9; done; ulimit -f 0; ulimit -n 9; ulimit -t 1; true";
        let calls = [json!({"tool": "shell:exec", "args": {"argv": ["bash", "-c", limits]}})];
        let turns = [json!({"calls": calls}), json!({"output": {"summary": "done"}})];
        let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
        outside.scratch.write("script.yml", &script.to_string());
        let said = outside.scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(0);
        let big = outside.scratch.root().join("big").metadata().unwrap().len();
        assert_eq!(big, 300_000, "{processes}: {said:?}");
    }
}

/// What git or direnv of the author executes is not written by a tool either, at any level.
#[test]
fn tools_write_nothing_that_git_executes() {
    let paths = [
        (".husky/pre-commit", "#!/bin/sh\n"),
        (".husky/new", ""),
        (".gitattributes", "a.txt filter=x\n"),
        (".gitmodules", ""),
        (".envrc", "export A=1\n"),
        (".git/hooks/pre-commit", ""),
        (".git/info/attributes", ""),
        ("tools/clean.sh", "cat\n"),
        ("tools/monitor.sh", "#!/bin/sh\nexit 1\n"),
        ("tools/settings", "[user]\nname = a\n"),
        ("tools/../tools/settings", "[user]\nname = a\n"),
        ("tools/alias.sh", "true\n"),
    ];
    let playbook = format!(
        "{PLAYBOOK}  - {{id: commit, dependsOn: work, sandbox: never, run: 'git add -A; git commit -qm x; git status; git hi'}}\n"
    );
    for level in ["kernel", "process", "none"] {
        let scratch = Scratch::new(&[
            (".kb/playbooks/p.yml", &playbook),
            (".kb/specialists/worker.yml", SPECIALIST),
            ("a.txt", "a\n"),
        ]);
        let there = paths.iter().filter(|(path, text)| !text.is_empty() && !path.contains(".."));
        there.for_each(|(path, text)| scratch.write(path, text));
        for file in [".husky/pre-commit", "tools/monitor.sh"] {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(scratch.root().join(file), mode).unwrap();
        }
        let settings = [
            ("user.email", "a@example.org"),
            ("core.hooksPath", ".husky"),
            ("core.fsmonitor", "tools/monitor.sh"),
            ("filter.x.clean", "sh ./tools/clean.sh"),
            ("include.path", "../tools/settings"),
            ("alias.hi", "!sh tools/alias.sh"),
        ];
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.args(args)
                .current_dir(scratch.root())
                .env("HOME", scratch.root().parent().unwrap());
            assert!(git.finish().status.success(), "{args:?}");
        };
        git(&["init", "-q"]);
        settings.iter().for_each(|(name, value)| git(&["config", name, value]));
        let plant = "#!/bin/sh\ntouch $HOME/pwned\n";
        let write =
            |path: &str| json!({"tool": "fs:write", "args": {"path": path, "content": plant}});
        // Three denied calls in a row would end the step.
        let turns = paths
            .iter()
            .enumerate()
            .map(|(n, (path, _))| json!({"calls": [write(path), write(&format!("plain-{n}.sh"))]}));
        let turns: Vec<Value> = turns.chain([json!({"output": {"summary": "done"}})]).collect();
        let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
        scratch.write("script.yml", &script.to_string());
        let args = ["playbook", "run", "p", "--script", "script.yml"];
        let said = scratch.kb_with(&args, |kb| _ = kb.env("KB_SANDBOX_AT_MOST", level)).code(0);
        for (path, text) in paths {
            let at = scratch.root().join(path);
            assert_eq!(
                std::fs::read_to_string(at).unwrap_or_default(),
                text,
                "{level} {path}: {said:?}"
            );
        }
        assert!(!scratch.root().parent().unwrap().join("pwned").exists(), "{level}: {said:?}");
        git(&["log", "-1", "--format=%s"]);
    }
}

/// A protected path that did not exist cannot be read-only: the step fails, and the step of the
/// author after it does not run.
#[test]
fn a_step_that_plants_a_repository_fails() {
    let playbook =
        format!("{PLAYBOOK}  - {{id: commit, dependsOn: work, run: git commit -qm x}}\n");
    let outside = Outside::new(
        None,
        &[(".kb/playbooks/p.yml", &playbook), (".kb/specialists/worker.yml", SPECIALIST)],
    );
    let plant =
        format!("git init -q; {PLANT} .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit");
    let calls = [json!({"tool": "shell:exec", "args": {"command": plant}})];
    let turns = [json!({"calls": calls}), json!({"output": {"summary": "done"}})];
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
    outside.scratch.write("script.yml", &script.to_string());
    let run = outside.scratch.kb(&["playbook", "run", "p", "--script", "script.yml", "--yes"]);
    assert_ne!(run.code, 0, "{run:?}");
    assert!(run.err.contains("KB0606") || run.out.contains("KB0606"), "{run:?}");
    assert!(!outside.scratch.root().parent().unwrap().join("pwned").exists());
}

/// Commands can use servers that they start themselves, and a note names the setting for others.
#[test]
fn the_private_network_has_a_loopback_interface() {
    if !is_complete() {
        return;
    }
    let outside = Outside::new(
        None,
        &[(".kb/playbooks/p.yml", PLAYBOOK), (".kb/specialists/worker.yml", SPECIALIST)],
    );
    let server = "python3 -m http.server 18080 --bind 127.0.0.1 >/dev/null 2>&1 & \
        for i in $(seq 100); do exec 3<>/dev/tcp/127.0.0.1/18080 && break; sleep 0.05; done; \
        printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; head -1 <&3";
    let printed = run(&outside, &[("own server", server.to_owned())]);
    assert!(printed["own server"].contains("200 OK"), "{printed:?}");
}

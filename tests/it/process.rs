//! Processes: how they end, what is kept of them, and that nothing of them is left.

use crate::alive::{self, child};
use crate::running::{Running, Start};
use crate::scratch::Scratch;
use kb::process::{
    BaseEnvironment, Confinement, KernelSandbox, Network, OnLine, ProcessEnd, ProcessLevel,
    ProcessResult, Spawn, Stream, Supervisor,
};
use rustix::process::{Pid, Signal, kill_process};
use std::cell::Cell;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

fn spawn(argv: &[&str]) -> Spawn {
    Spawn {
        own_program: false,
        argv: argv.iter().map(|word| word.to_string()).collect(),
        cwd: std::env::temp_dir(),
        env: Vec::new(),
        stdin: Vec::new(),
        timeout: Some(Duration::from_secs(60)),
        idle: None,
        max_stream: 1 << 20,
    }
}

fn shell(script: &str) -> Spawn {
    spawn(&["sh", "-c", script])
}

thread_local! {
    /// The level that a test is about; each has a thread of its own.
    static LEVEL: Cell<ProcessLevel> = const { Cell::new(ProcessLevel::Group) };
}

/// A statement that holds at both levels.
macro_rules! at_both_levels {
    ($(#[$meta:meta])* async fn $name:ident() $body:block) => {
        $(#[$meta])*
        mod $name {
            use super::*;

            async fn holds() $body

            #[tokio::test]
            async fn group() {
                LEVEL.set(ProcessLevel::Group);
                holds().await;
            }

            #[tokio::test]
            async fn namespace() {
                LEVEL.set(ProcessLevel::PidNamespace);
                holds().await;
            }
        }
    };
}

mod session;

fn supervisor() -> Supervisor {
    of(BaseEnvironment::select(std::env::vars(), &[]))
}

fn of(base: BaseEnvironment) -> Supervisor {
    let supervisor = match LEVEL.get() {
        ProcessLevel::Group => Supervisor::new(base),
        ProcessLevel::PidNamespace => {
            Supervisor::new(base).with_init_program(env!("CARGO_BIN_EXE_kb"))
        }
    };
    assert_eq!(supervisor.level(), LEVEL.get(), "{:?}", supervisor.shortfall());
    supervisor
}

async fn run(spawn: Spawn) -> ProcessResult {
    supervisor().run(spawn, &CancellationToken::new(), None).await
}

/// What a script says and how it ends.
async fn check(script: &str, end: ProcessEnd, stdout: &str, stderr: &str) {
    let exited = run(shell(script)).await;
    assert_eq!(exited.end, end, "{script}: {exited:?}");
    assert_eq!((exited.stdout.as_str(), exited.stderr.as_str()), (stdout, stderr), "{script}");
    assert_eq!((exited.stdout_cut, exited.stderr_cut), (0, 0), "{script}");
}

/// Runs what leaves a process behind, which writes its id to `$OUT`; nothing of it may be left.
async fn check_gone(script: &str, spawn: impl FnOnce(Spawn) -> Spawn) -> ProcessResult {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("pid");
    let mut step = spawn(shell(script));
    step.env.push(("OUT".into(), out.display().to_string()));
    let exited = run(step).await;
    assert!(!std::fs::read_to_string(&out).expect(script).is_empty(), "{script}");
    assert_eq!(alive::with_variable("OUT", &out), [""; 0], "{script}");
    exited
}

#[track_caller]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < limit, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

at_both_levels! {
    async fn ends_and_streams_are_reported_as_they_are() {
        check("echo out; echo err >&2", ProcessEnd::Code(0), "out\n", "err\n").await;
        check("printf part; exit 7", ProcessEnd::Code(7), "part", "").await;
        check("kill -SEGV $$", ProcessEnd::Signal(11), "", "").await;
        check("kill -KILL $$", ProcessEnd::Signal(9), "", "").await;
        check(r"printf '\377\000a'", ProcessEnd::Code(0), "\u{fffd}\0a", "").await;
        check("cat", ProcessEnd::Code(0), "", "").await;
    }
}

at_both_levels! {
    async fn a_script_of_several_lines_reports_its_failed_command() {
        let script = spawn(&["bash", "-euo", "pipefail", "-c", "f() {\n  ls /nonexistent\n}\nf"]);
        let exited = run(script.clone()).await;
        let failed = exited.failed.clone().expect("a report");
        assert_eq!((failed.line, failed.command.as_str()), (2, "ls /nonexistent"), "{exited:?}");
        let directory = tempfile::tempdir().unwrap();
        let confined = supervisor().confined(Confinement::to([directory.path().to_owned()]));
        let script = Spawn { cwd: directory.path().to_owned(), ..script };
        let exited = confined.run(script, &CancellationToken::new(), None).await;
        // The sandbox hides the file where it is not passed on.
        let expected = (LEVEL.get() == ProcessLevel::PidNamespace).then_some(failed);
        assert_eq!(exited.failed, expected, "{exited:?}");
        assert!(!exited.stderr.contains("/proc"), "{exited:?}");
        let one_line = spawn(&["bash", "-euo", "pipefail", "-c", "echo a; kill -KILL $$"]);
        assert_eq!(run(one_line).await.failed, None);
    }
}

at_both_levels! {
    async fn stdin_is_fed_whole_and_may_be_ignored() {
        let text = "line of input\n".repeat(100_000);
        let exited =
            run(Spawn { stdin: text.clone().into(), max_stream: 4 << 20, ..shell("cat") }).await;
        assert_eq!(exited.end, ProcessEnd::Code(0));
        assert!(exited.stdout == text, "{} of {} bytes", exited.stdout.len(), text.len());
        let exited = run(Spawn { stdin: text.into(), ..shell("exit 3") }).await;
        assert_eq!(exited.end, ProcessEnd::Code(3));
    }
}

at_both_levels! {
    async fn a_flood_is_counted_not_kept() {
        let lines = Arc::new(Mutex::new(0_u32));
        let counter = lines.clone();
        let count: OnLine = Arc::new(move |_, _| *counter.lock().unwrap() += 1);
        let step = Spawn { max_stream: 1000, ..shell("yes | head -c 1000000000; echo end >&2") };
        let exited = supervisor().run(step, &CancellationToken::new(), Some(count.into())).await;
        assert_eq!(exited.end, ProcessEnd::Code(0));
        assert_eq!((exited.stdout.len(), exited.stdout_cut), (1000, 999_999_000));
        assert_eq!(exited.stderr, "end\n");
        assert!(*lines.lock().unwrap() < 1_000_000, "lines of a flood are thinned out");
    }
}

at_both_levels! {
    async fn a_cut_never_splits_a_character() {
        let exited = run(Spawn { max_stream: 4, ..shell("printf 'äöü'") }).await;
        assert_eq!((exited.stdout.as_str(), exited.stdout_cut), ("äö", 2));
        let exited = run(Spawn { max_stream: 3, ..shell("printf 'äöü'") }).await;
        assert_eq!((exited.stdout.as_str(), exited.stdout_cut), ("ä", 4));
        let exited = run(Spawn { max_stream: 0, ..shell("printf 'äöü'") }).await;
        assert_eq!((exited.stdout.as_str(), exited.stdout_cut), ("", 6));
    }
}

at_both_levels! {
    async fn lines_are_shown_in_order_while_it_runs() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        let show: OnLine =
            Arc::new(move |stream, line: &str| sink.lock().unwrap().push((stream, line.to_owned())));
        let step = shell(r"printf 'a\r\nb'; printf 'c\nd'; echo e >&2");
        supervisor().run(step, &CancellationToken::new(), Some(show.into())).await;
        let seen = seen.lock().unwrap();
        let of = |wanted| -> Vec<&str> {
            seen.iter().filter(|(stream, _)| *stream == wanted).map(|(_, line)| line.as_str()).collect()
        };
        assert_eq!((of(Stream::Stdout), of(Stream::Stderr)), (vec!["a", "bc", "d"], vec!["e"]));
    }
}

at_both_levels! {
    /// Half a secret may lie before the place where a long line is cut.
    async fn what_follows_in_a_line_that_was_shown_cut_is_not_shown() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        let show: OnLine = Arc::new(move |_, line: &str| sink.lock().unwrap().push(line.to_owned()));
        let step = shell("printf '%5000s' x; sleep 0.1; printf rest; sleep 0.1; echo; echo next");
        supervisor().run(step, &CancellationToken::new(), Some(show.into())).await;
        let seen = seen.lock().unwrap();
        assert_eq!((seen.len(), seen[1].as_str()), (2, "next"), "{seen:?}");
    }
}

at_both_levels! {
    async fn what_cannot_start_says_why() {
        async fn check(step: Spawn, expected: &str) {
            match run(step).await.end {
                ProcessEnd::NotStarted(reason) => assert_eq!(reason, expected),
                other => panic!("expected `{expected}`, got {other:?}"),
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("data");
        std::fs::write(&file, "no program").unwrap();
        let odd = directory.path().join("odd");
        std::fs::write(&odd, "#!/no/interpreter\n").unwrap();
        make_executable(&odd);

        check(spawn(&["no-such-program-x"]), "no program `no-such-program-x` in PATH").await;
        check(spawn(&["./no-such-program-x"]), "the program `./no-such-program-x` does not exist").await;
        check(spawn(&["/tmp"]), "`/tmp` is a directory, not a program").await;
        check(spawn(&[]), "the command has no program").await;
        check(
            Spawn { cwd: "/no/such/place".into(), ..shell("true") },
            "the working directory `/no/such/place` does not exist",
        )
        .await;
        check(
            Spawn { cwd: directory.path().into(), ..spawn(&["./data"]) },
            "`./data` is not executable",
        )
        .await;
        check(
            Spawn { cwd: directory.path().into(), ..spawn(&["./odd"]) },
            "the interpreter that `./odd` names does not exist",
        )
        .await;
        check(spawn(&["echo", "a\0b"]), "an argument or variable of `echo` contains a zero byte").await;
        let huge = "x".repeat(3 << 20);
        check(
            spawn(&["echo", &huge]),
            "the arguments and environment of `echo` are larger than the system allows",
        )
        .await;
    }
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

at_both_levels! {
    async fn time_silence_and_cancelling_stop_the_whole_group() {
        let sleeper = "sleep 1000 & echo $! > $OUT; wait";
        let short = Some(Duration::from_millis(200));
        let exited = check_gone(sleeper, |step| Spawn { timeout: short, ..step }).await;
        assert_eq!(exited.end, ProcessEnd::TimedOut);
        let exited = check_gone(sleeper, |step| Spawn { idle: short, ..step }).await;
        assert_eq!(exited.end, ProcessEnd::Idle);
        assert!(exited.duration < Duration::from_secs(2), "{:?}", exited.duration);
    }
}

at_both_levels! {
    async fn output_on_either_stream_is_no_silence() {
        let talks = "for i in 1 2 3 4 5; do sleep 0.2; echo $i >&2; done";
        let exited = run(Spawn { idle: Some(Duration::from_millis(900)), ..shell(talks) }).await;
        assert_eq!(exited.end, ProcessEnd::Code(0));
    }
}

at_both_levels! {
    async fn cancelling_stops_and_keeps_what_was_said() {
        let (cancel, heard) = (CancellationToken::new(), CancellationToken::new());
        let (trigger, mark) = (cancel.clone(), heard.clone());
        let show: OnLine = Arc::new(move |_, _| {
            mark.cancel();
            trigger.cancel();
        });
        let exited = supervisor().run(shell("echo ready; sleep 1000"), &cancel, Some(show.into())).await;
        assert_eq!((exited.end, exited.stdout.as_str()), (ProcessEnd::Cancelled, "ready\n"));
        assert!(heard.is_cancelled());
        let exited = supervisor().run(shell("echo never"), &cancel, None).await;
        assert_eq!((exited.end, exited.stdout.as_str()), (ProcessEnd::Cancelled, ""));
    }
}

at_both_levels! {
    async fn ignoring_sigterm_only_buys_the_grace() {
        let stubborn = "trap '' TERM; echo $$ > $OUT; while :; do sleep 0.1; done";
        let exited =
            check_gone(stubborn, |step| Spawn { timeout: Some(Duration::from_millis(300)), ..step })
                .await;
        assert_eq!(exited.end, ProcessEnd::TimedOut);
        assert!(exited.duration >= Duration::from_millis(2200), "{:?}", exited.duration);
    }
}

at_both_levels! {
    async fn a_step_ends_with_its_main_process() {
        let exited = check_gone("sleep 1000 & echo $! > $OUT; echo done", |step| step).await;
        assert_eq!((exited.end, exited.stdout.as_str()), (ProcessEnd::Code(0), "done\n"));
        assert!(exited.duration < Duration::from_secs(60), "{:?}", exited.duration);
        let stubborn = "(trap '' TERM HUP; sleep 1000) & echo $! > $OUT";
        assert_eq!(check_gone(stubborn, |step| step).await.end, ProcessEnd::Code(0));
    }
}

at_both_levels! {
    async fn leaving_the_group_is_no_way_out() {
        let left = "setsid sh -c 'echo $$ > $OUT; exec sleep 1000' >/dev/null 2>&1 & \
                    while [ ! -s $OUT ]; do sleep 0.01; done";
        assert_eq!(check_gone(left, |step| step).await.end, ProcessEnd::Code(0));
        let twice = "setsid sh -c 'setsid sh -c \"echo \\$\\$ > $OUT; exec sleep 1000\" & wait' & \
                     while [ ! -s $OUT ]; do sleep 0.01; done";
        assert_eq!(check_gone(twice, |step| step).await.end, ProcessEnd::Code(0));
    }
}

/// Not a test by itself: in a group, what has wiped its mark ends once no other step runs, so nothing
/// else of this program may run beside it.
#[tokio::test]
#[ignore = "started by another test"]
async fn wiper() {
    LEVEL.set(level_of_variable());
    let wiped = "env -i OUT=$OUT setsid sh -c 'echo $$ > $OUT; exec sleep 1000' & \
                 while [ ! -s $OUT ]; do sleep 0.01; done";
    assert_eq!(check_gone(wiped, |step| step).await.end, ProcessEnd::Code(0));
}

#[test]
fn wiping_the_environment_is_no_way_out() {
    for level in LEVELS {
        assert!(in_own_process("process::wiper", level).finish().status.success());
    }
}

const LEVELS: [ProcessLevel; 2] = [ProcessLevel::Group, ProcessLevel::PidNamespace];

fn level_of_variable() -> ProcessLevel {
    let named = std::env::var("KB_TEST_LEVEL").unwrap();
    LEVELS.into_iter().find(|level| level.as_str() == named).unwrap()
}

fn in_own_process(test: &str, level: ProcessLevel) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored"]).stdout(std::process::Stdio::null());
    command.env("KB_TEST_LEVEL", level.as_str());
    command
}

at_both_levels! {
    async fn a_step_that_ends_takes_nothing_from_its_neighbour() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("done");
        let mut neighbour = shell(
            "setsid sh -c 'while [ ! -e $OUT.go ]; do sleep 0.01; done; echo alive > $OUT' & \
             while [ ! -s $OUT ]; do sleep 0.01; done; cat $OUT",
        );
        neighbour.env.push(("OUT".into(), out.display().to_string()));
        let short = async {
            run(shell("setsid sleep 1000 & :")).await;
            std::fs::write(directory.path().join("done.go"), "").unwrap();
        };
        let (exited, ()) = tokio::join!(run(neighbour), short);
        assert_eq!((exited.end, exited.stdout.as_str()), (ProcessEnd::Code(0), "alive\n"));
    }
}

at_both_levels! {
    async fn dropping_the_future_kills() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("pid");
        let mut step = shell("sleep 1000 & echo $! > $OUT.new; mv $OUT.new $OUT; wait");
        step.env.push(("OUT".into(), out.display().to_string()));
        let task = tokio::spawn(run(step));
        while !out.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        task.abort();
        let _ = task.await;
        alive::end(|| alive::with_variable("OUT", &out));
    }
}

at_both_levels! {
    async fn the_environment_is_what_is_declared() {
        let own = [("PATH", "/usr/bin:/bin"), ("LC_ALL", "C"), ("SECRET", "x"), ("MINE", "y")];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let base = BaseEnvironment::select(own, &["MINE".into()]);
        let mut step = spawn(&["env"]);
        step.env = vec![("MINE".into(), "z".into()), ("NEW".into(), "n".into())];
        let exited = of(base).run(step, &CancellationToken::new(), None).await;
        let mut names: Vec<&str> = exited
            .stdout
            .lines()
            .filter(|line| !line.starts_with("KB_SPAWN=") && !line.starts_with("TMPDIR="))
            .collect();
        names.sort();
        assert_eq!(names, ["LC_ALL=C", "MINE=z", "NEW=n", "PATH=/usr/bin:/bin"]);
        let temporary = exited.stdout.lines().find_map(|line| line.strip_prefix("TMPDIR=")).unwrap();
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(temporary).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn levels_have_names_and_words() {
    let words = LEVELS.map(|level| (level.as_str(), level.description()));
    assert!(words[0].0 == "group" && words[0].1.contains("process group"));
    assert!(words[1].0 == "pidNamespace" && words[1].1.contains("PID namespace"));
    // This program is no init process and names none.
    let supervisor = Supervisor::new(BaseEnvironment::default());
    assert_eq!(supervisor.level(), ProcessLevel::Group);
    assert_eq!(supervisor.shortfall(), Some("this program has no init process"));
    let mut odd = in_own_process("process::init_program_that_ends", ProcessLevel::Group);
    assert!(odd.finish().status.success());
}

/// Not a test by itself: a process has one init, and this one's is none.
#[test]
#[ignore = "started by another test"]
fn init_program_that_ends() {
    let odd = Supervisor::new(BaseEnvironment::default()).with_init_program("/bin/true");
    assert_eq!(
        (odd.level(), odd.shortfall()),
        (ProcessLevel::Group, Some("the init process ended at once"))
    );
}

// --- Attempts to get away

at_both_levels! {
    async fn a_step_that_stands_still_ends_when_its_time_is_up() {
        let stopped = "echo $$ > $OUT; kill -STOP $$";
        let short = Some(Duration::from_millis(200));
        let exited = check_gone(stopped, |step| Spawn { timeout: short, ..step }).await;
        assert_eq!(exited.end, ProcessEnd::TimedOut);
        assert!(exited.duration < Duration::from_secs(2), "{:?}", exited.duration);
        let left = "setsid sh -c 'echo $$ > $OUT; kill -STOP $$' & while [ ! -s $OUT ]; do sleep 0.01; done";
        assert_eq!(check_gone(left, |step| step).await.end, ProcessEnd::Code(0));
    }
}

at_both_levels! {
    async fn a_chain_of_processes_that_leave_is_cut() {
        // Each starts the next in a session of its own and ends.
        let chain = "x='echo $$ >> $OUT; setsid sh -c \"$x\" & sleep 0.002'; export x; \
                     setsid sh -c \"$x\" & while [ ! -s $OUT ]; do sleep 0.01; done";
        assert_eq!(check_gone(chain, |step| step).await.end, ProcessEnd::Code(0));
    }
}

at_both_levels! {
    async fn a_long_line_of_processes_is_cut_to_its_end() {
        // Each lives as long as the next, in a session of its own, so that the end of one shows the next.
        let line = "x='n=$((n + 1)); if [ $n -lt 220 ]; then setsid sh -c \"$x\"; else echo $$ > $OUT; sleep 1000; fi; :'; \
                    n=0; export x n; setsid sh -c \"$x\" & while [ ! -s $OUT ]; do sleep 0.01; done";
        // Beside another step, so that what shows no mark for a moment cannot simply be taken for its own.
        let done = CancellationToken::new();
        let neighbour = async { supervisor().run(spawn(&["sleep", "1000"]), &done, None).await };
        let cut = async {
            let end = check_gone(line, |step| step).await.end;
            done.cancel();
            end
        };
        let (_, end) = tokio::join!(neighbour, cut);
        assert_eq!(end, ProcessEnd::Code(0));
    }
}

#[tokio::test]
async fn a_step_reaches_nothing_but_itself() {
    LEVEL.set(ProcessLevel::PidNamespace);
    let neighbour = run(shell("sleep 0.7; echo whole"));
    // PID 1 neither ends nor stands still, and the rest is the step's own.
    let wild = run(shell(
        "kill -KILL 1; kill -STOP 1; kill -TERM $PPID; sleep 1000 & kill -KILL -1; wait; echo on",
    ));
    let (neighbour, wild) = tokio::join!(neighbour, wild);
    assert_eq!((neighbour.end, neighbour.stdout.as_str()), (ProcessEnd::Code(0), "whole\n"));
    assert_eq!((wild.end, wild.stdout.as_str()), (ProcessEnd::Code(0), "on\n"));
}

#[tokio::test]
async fn what_a_step_knows_of_itself_agrees() {
    LEVEL.set(ProcessLevel::PidNamespace);
    let script = "read -r pid rest < /proc/$$/stat; echo \"$((pid - $$))\"; \
                  kill -0 $$ && ps -o pid= -p $$ | tr -d ' ' | sed \"s/^$$\\$/same/\"; \
                  test /proc/$$/cwd -ef . && echo here; \
                  ls /proc | grep -c '^[0-9]' | sed 's/^[2-6]$/few/'; \
                  sleep 1000 & kill $! && wait $! || echo $?";
    let exited = run(shell(script)).await;
    assert_eq!(exited.stdout, "0\nsame\nhere\nfew\n143\n", "{exited:?}");
}

#[tokio::test]
async fn ids_do_not_begin_alike_in_each_namespace() {
    LEVEL.set(ProcessLevel::PidNamespace);
    let (one, other) = (supervisor(), supervisor());
    let cancel = CancellationToken::new();
    let (one, other) = tokio::join!(
        one.run(shell("echo $$"), &cancel, None),
        other.run(shell("echo $$"), &cancel, None)
    );
    assert_ne!(one.stdout, other.stdout);
}

#[tokio::test]
async fn what_is_held_writes_where_it_may_and_sees_its_own_proc() {
    LEVEL.set(ProcessLevel::PidNamespace);
    if KernelSandbox::detect().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("kept")).unwrap();
    std::fs::create_dir(root.join("given")).unwrap();
    let limits = Confinement::to([root.join("given"), root.join("kept")])
        .with_read_only([root.join("kept"), root.join("given/absent")]);
    let mut step = shell(
        "touch given/a && echo given; touch b || echo outside; touch kept/c || echo kept; \
         read -r pid rest < /proc/$$/stat && test $pid = $$ && echo proc; \
         grep -q 'NoNewPrivs:.*1' /proc/self/status && echo powerless",
    );
    step.cwd = root.clone();
    let exited = supervisor().confined(limits).run(step, &CancellationToken::new(), None).await;
    assert_eq!(exited.stdout, "given\noutside\nkept\nproc\npowerless\n", "{exited:?}");
    // What was mounted for one is not there for the next, nor outside.
    let next = run(Spawn { cwd: root.clone(), ..shell("touch kept/c b && echo free") }).await;
    assert_eq!(next.stdout, "free\n", "{next:?}");
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains("/kept "), "{mounts}");
}

/// A path that is replaced from outside between two commands stays hidden or read-only, also where the new file gets the
/// inode of the old one.
#[tokio::test]
async fn what_is_replaced_between_two_commands_stays_hidden_and_read_only() {
    LEVEL.set(ProcessLevel::PidNamespace);
    let supervisor = supervisor();
    if KernelSandbox::detect().is_none() || !supervisor.can_hide_paths() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for _ in 0..4 {
        for name in ["hidden", "kept"] {
            let _ = std::fs::remove_file(root.join(name));
            std::fs::write(root.join(name), "x").unwrap();
        }
        let limits = Confinement::to([root.clone()]).with_scratch(1);
        let limits = limits.with_read_only([root.join("kept")]).with_hidden([root.join("hidden")]);
        let step = Spawn { cwd: root.clone(), ..shell("cat hidden; echo y >> kept") };
        let exited = supervisor.confined(limits).run(step, &CancellationToken::new(), None).await;
        assert_eq!(exited.stdout, "", "{exited:?}");
        assert_eq!(std::fs::read_to_string(root.join("kept")).unwrap(), "x", "{exited:?}");
    }
}

/// No file of the project runs as the user of `kb` for everybody, whatever sets its mode.
#[tokio::test]
async fn a_command_in_the_sandbox_sets_no_set_id_bits_and_no_capabilities() {
    LEVEL.set(ProcessLevel::PidNamespace);
    if KernelSandbox::detect().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let attempts = "set +e; cp /bin/sh a; cp a b; chmod 4755 a; chmod g+s b; install -m 6755 a c
        python3 -c 'import os; os.close(os.open(\"d\", os.O_CREAT | os.O_WRONLY, 0o4755))'
        python3 -c 'import os; os.fchmod(os.open(\"a\", os.O_RDONLY), 0o2755)'
        python3 -c 'import os; os.mknod(\"e\", 0o104755)'
        python3 -c 'import os, struct; os.setxattr(\"b\", \"security.capability\", struct.pack(\"<5I\", 0x2000001, 1 << 7, 0, 0, 0))'
        find . -perm /6000; getfattr -n security.capability b 2> /dev/null; echo done";
    let step = Spawn { cwd: root.clone(), ..shell(attempts) };
    let limits = Confinement::to([root.clone()]);
    let exited = supervisor().confined(limits).run(step, &CancellationToken::new(), None).await;
    assert_eq!(exited.stdout, "done\n", "{exited:?}");
    let marked = |name: &str| {
        let file = root.join(name);
        file.metadata().is_ok_and(|found| found.permissions().mode() & 0o6000 != 0)
            || rustix::fs::getxattr(&file, "security.capability", &mut [0u8; 64]).is_ok()
    };
    assert!(!["a", "b", "c", "d", "e"].iter().any(|name| marked(name)));
}

/// Root in the sandbox reads no traffic of other programs.
#[tokio::test]
async fn a_command_in_the_sandbox_opens_no_raw_socket() {
    LEVEL.set(ProcessLevel::PidNamespace);
    if KernelSandbox::detect().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let opens = "python3 -c 'import socket; socket.socket(2, 3, 6); print(\"opened\")'; echo done";
    let limits = Confinement::to([root.clone()]).with_network(Network::Open);
    let step = Spawn { cwd: root, ..shell(opens) };
    let exited = supervisor().confined(limits).run(step, &CancellationToken::new(), None).await;
    assert_eq!(exited.stdout, "done\n", "{exited:?}");
}

// --- Kills from outside

/// Not a test by itself: others run it in a process of its own, and kill that.
#[tokio::test]
#[ignore = "started and killed by another test"]
async fn owner() {
    LEVEL.set(level_of_variable());
    let out = std::env::var("KB_TEST_OUT").unwrap();
    let mut step =
        shell("touch $TMPDIR/leftover; setsid sleep 1000 & sleep 1000 & echo $TMPDIR > $OUT; wait");
    step.env.push(("OUT".into(), out));
    run(step).await;
}

at_both_levels! {
    async fn a_kb_inside_of_a_step_ends_with_all_of_its_steps() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("tmpdir");
        let program = std::env::current_exe().unwrap().display().to_string();
        let mut step = spawn(&[&program, "--exact", "process::owner", "--ignored"]);
        step.env.push(("KB_TEST_OUT".into(), out.display().to_string()));
        step.env.push(("KB_TEST_LEVEL".into(), LEVEL.get().as_str().into()));
        let cancel = CancellationToken::new();
        let trigger = async {
            while !std::fs::read_to_string(&out).is_ok_and(|told| told.ends_with('\n')) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        };
        let supervisor = supervisor();
        let (exited, ()) = tokio::join!(supervisor.run(step, &cancel, None), trigger);
        assert_eq!(exited.end, ProcessEnd::Cancelled);
        assert_eq!(alive::with_variable("OUT", &out), [""; 0]);
        let text = std::fs::read_to_string(&out).unwrap();
        let temporary = supervisor.temporary_directory().unwrap();
        assert!(Path::new(text.trim()).starts_with(temporary), "{text} in {temporary:?}");
    }
}

/// An owner with a step at work, and who stands behind it.
struct Held {
    owner: Running,
    /// The init and its worker, at the level of namespaces.
    kept: Vec<Pid>,
    out: PathBuf,
    temporary: PathBuf,
    _directory: tempfile::TempDir,
}

impl Held {
    fn begin(level: ProcessLevel) -> Held {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("tmpdir");
        let mut command = in_own_process("process::owner", level);
        // Not in the common folder, where any `kb` removes what the dead have left.
        command.env("TMPDIR", directory.path());
        let owner = command.env("KB_TEST_OUT", &out).start();
        let told = || std::fs::read_to_string(&out).unwrap_or_default();
        wait_until("the step", || told().ends_with('\n'));
        let temporary = PathBuf::from(told().trim());
        let mut kept = Vec::new();
        if level == ProcessLevel::PidNamespace {
            kept.push(child(owner.id() as i32, "kb-init"));
            kept.push(child(kept[0].as_raw_nonzero().get(), "kb-worker"));
        }
        let held = Held { owner, kept, out, temporary, _directory: directory };
        held.all_three_live();
        held
    }

    /// The shell and its two. Waits, since a process is not seen while it becomes another program;
    /// one that has ended does not come back.
    #[track_caller]
    fn all_three_live(&self) {
        wait_until("three processes", || alive::with_variable("OUT", &self.out).len() == 3);
    }

    fn kill_owner(&mut self) {
        self.owner.kill().unwrap();
        self.owner.wait().unwrap();
    }

    fn signal(&self, who: usize, signal: Signal) {
        kill_process(self.kept[who], signal).unwrap();
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        alive::end(|| alive::with_variable("OUT", &self.out));
    }
}

#[test]
fn kill_nine_of_the_owner_leaves_nothing() {
    for level in LEVELS {
        let mut held = Held::begin(level);
        held.kill_owner();
        held.nothing_is_left();
        wait_until("the removal of TMPDIR", || !held.temporary.exists());
    }
}

/// Where the one that watched over them was killed too.
#[test]
fn what_a_dead_kb_left_is_removed_by_the_next() {
    let scratch = Scratch::new(&[(
        "playbooks/p.yml",
        "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'stat -c %a \"$TMPDIR\"; ls \"$TMPDIR/../..\"'}]\n",
    )]);
    // No process has an id like this one.
    let temporary = scratch.root().parent().unwrap().to_owned();
    std::fs::create_dir_all(temporary.join("kb-4194305-1a2b/deep")).unwrap();
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let said = scratch.kb(&["run", "output", "@last", "a"]).code(0).out;
    let lines: Vec<&str> = said.lines().collect();
    let own = lines.iter().filter(|line| line.starts_with("kb-")).count();
    assert!(lines[0] == "700" && own == 1, "{said}");
    assert!(!temporary.join("kb-4194305-1a2b").exists());
}

/// The name of one `kb` may be the end of another's: its id is a number, and its time may be the same.
#[test]
fn a_process_with_a_longer_name_outlives_a_killed_owner() {
    let mut held = Held::begin(ProcessLevel::Group);
    let pid = held.owner.id() as i32;
    let steps = alive::with_variable("OUT", &held.out);
    let folder = steps[0].split(' ').next().unwrap();
    let environment = std::fs::read(format!("{folder}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    let token = environment.split('\0').find_map(|one| one.strip_prefix("KB_SPAWN=")).unwrap();
    assert!(token.starts_with(&format!("{pid}-")), "{token}");
    let mut command = std::process::Command::new("sleep");
    let mut other = command.arg("1000").env("KB_SPAWN", format!("9{token}")).start();
    held.kill_owner();
    held.nothing_is_left();
    wait_until("the removal of TMPDIR", || !held.temporary.exists());
    assert!(other.try_wait().unwrap().is_none(), "it is nobody's remains");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn kill_nine_of_owner_and_init_in_either_order_leaves_nothing() {
    let mut held = Held::begin(ProcessLevel::PidNamespace);
    held.signal(0, Signal::KILL);
    held.kill_owner();
    held.nothing_is_left();
    let mut held = Held::begin(ProcessLevel::PidNamespace);
    held.kill_owner();
    let _ = kill_process(held.kept[0], Signal::KILL);
    held.nothing_is_left();
}

#[test]
fn kill_nine_of_an_owner_whose_init_or_worker_stands_still_leaves_nothing() {
    for who in [0, 1] {
        let mut held = Held::begin(ProcessLevel::PidNamespace);
        held.signal(who, Signal::STOP);
        held.kill_owner();
        held.nothing_is_left();
        let _ = kill_process(held.kept[who], Signal::CONT);
        wait_until("the removal of TMPDIR", || !held.temporary.exists());
    }
}

#[test]
fn a_terminal_or_a_session_that_ends_does_not_end_what_keeps_the_steps() {
    let held = Held::begin(ProcessLevel::PidNamespace);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        held.signal(0, signal);
        held.signal(1, signal);
    }
    let own = alive::session(rustix::process::getpid());
    assert!(held.kept.iter().all(|pid| alive::session(*pid) != own));
    std::thread::sleep(Duration::from_millis(100));
    assert!(held.kept.iter().all(|pid| alive::lives(*pid)));
    held.all_three_live();
}

/// As where a container is entered: the group and the session of this program lie outside.
#[test]
fn a_group_from_outside_of_the_namespace_is_nobodys() {
    let own_namespace = || {
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]);
        command
    };
    if !own_namespace().arg("true").finish_if_found().is_some_and(|ended| ended.status.success()) {
        return; // The system refuses that.
    }
    let mut held = own_namespace();
    held.arg(std::env::current_exe().unwrap()).args(["--exact", "process::wiper", "--ignored"]);
    held.env("KB_TEST_LEVEL", ProcessLevel::Group.as_str()).stdout(std::process::Stdio::null());
    assert!(held.finish().status.success());
}

/// Not a test by itself: kills what keeps its steps, which are nobody else's.
#[tokio::test]
#[ignore = "started by another test"]
async fn loser() {
    LEVEL.set(level_of_variable());
    let supervisor = supervisor();
    let own = std::process::id() as i32;
    for lost in 0..4 {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("began");
        let mut step = shell("setsid sleep 1000 & echo said; echo > $OUT; wait");
        step.env.push(("OUT".into(), out.display().to_string()));
        let cancel = CancellationToken::new();
        let attack = async {
            while !out.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let init = child(own, "kb-init");
            let worker = child(init.as_raw_nonzero().get(), "kb-worker");
            match lost {
                0 => kill_process(worker, Signal::KILL).unwrap(),
                1 => kill_process(init, Signal::KILL).unwrap(),
                2 => {
                    kill_process(init, Signal::KILL).unwrap();
                    let _ = kill_process(worker, Signal::KILL);
                }
                _ => {
                    // One that stands still does not keep a step from being cancelled.
                    kill_process(worker, Signal::STOP).unwrap();
                    cancel.cancel();
                }
            }
        };
        let (exited, ()) = tokio::join!(supervisor.run(step, &cancel, None), attack);
        let expected = if lost < 3 { ProcessEnd::Lost } else { ProcessEnd::Cancelled };
        assert_eq!((exited.end, exited.stdout.as_str()), (expected, "said\n"), "{lost}");
        assert_eq!(alive::with_variable("OUT", &out), [""; 0], "{lost}");
        // The next one has no part in it.
        let next = supervisor.run(shell("echo next"), &CancellationToken::new(), None).await;
        assert_eq!((next.end, next.stdout.as_str()), (ProcessEnd::Code(0), "next\n"), "{lost}");
    }
}

#[test]
fn what_keeps_a_step_is_replaced_when_it_is_killed() {
    let mut test = in_own_process("process::loser", ProcessLevel::PidNamespace);
    assert!(test.finish().status.success());
}

// --- Many

/// Not a test by itself: descriptors are counted where nobody else opens any.
#[tokio::test]
#[ignore = "started by another test"]
async fn counter() {
    LEVEL.set(level_of_variable());
    let supervisor = supervisor();
    let run = async |count: usize| {
        for n in 0..count {
            let script = if n % 10 == 0 { "setsid sleep 1000 & echo" } else { "echo" };
            let step = Spawn { stdin: vec![b'x'; n % 2], ..shell(script) };
            let exited = supervisor.run(step, &CancellationToken::new(), None).await;
            assert_eq!((exited.end, exited.stdout.as_str()), (ProcessEnd::Code(0), "\n"));
        }
    };
    let own = std::process::id() as i32;
    let mut all = vec![own];
    run(20).await;
    if LEVEL.get() == ProcessLevel::PidNamespace {
        all.push(child(own, "kb-init").as_raw_nonzero().get());
        all.push(child(all[1], "kb-worker").as_raw_nonzero().get());
    }
    let open = || all.iter().map(|pid| descriptors(*pid));
    let before: Vec<usize> = open().collect();
    run(500).await;
    assert_eq!(open().collect::<Vec<_>>(), before);
}

/// The open descriptors of a process. The kernel shows those of the init process and its workers to root only;
/// for others, the size of the table of descriptors, which 500 open ones exceed.
fn descriptors(pid: i32) -> usize {
    match std::fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(list) => list.count(),
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
            size.trim().parse().unwrap()
        }
    }
}

#[test]
fn five_hundred_steps_leave_no_descriptor() {
    for level in LEVELS {
        assert!(in_own_process("process::counter", level).finish().status.success());
    }
}

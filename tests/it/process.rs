//! Processes: how they end, what is kept of them, and that nothing of them is left.

use kb::process::ProcessLevel;
use kb::process::{BaseEnvironment, End, Exited, OnLine, Spawn, Stream, Supervisor};
use kb::value::is_dangerous_variable;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

fn spawn(argv: &[&str]) -> Spawn {
    Spawn {
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

fn supervisor() -> Supervisor {
    Supervisor::new(BaseEnvironment::from_process(&[]))
}

async fn run(spawn: Spawn) -> Exited {
    supervisor().run(spawn, &CancellationToken::new(), None).await
}

/// What a script says and how it ends.
async fn check(script: &str, end: End, stdout: &str, stderr: &str) {
    let exited = run(shell(script)).await;
    assert_eq!(exited.end, end, "{script}: {exited:?}");
    assert_eq!((exited.stdout.as_str(), exited.stderr.as_str()), (stdout, stderr), "{script}");
    assert_eq!((exited.stdout_cut, exited.stderr_cut), (0, 0), "{script}");
}

/// Runs what leaves a process behind, which writes its id to `$OUT`; nothing of it may be left.
async fn check_gone(script: &str, spawn: impl FnOnce(Spawn) -> Spawn) -> Exited {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("pid");
    let mut step = spawn(shell(script));
    step.env.push(("OUT".into(), out.display().to_string()));
    let exited = run(step).await;
    let pid = std::fs::read_to_string(&out).expect(script);
    assert!(!is_alive(pid.trim()), "{script}: {pid} is left");
    exited
}

fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < limit, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test]
async fn ends_and_streams_are_reported_as_they_are() {
    check("echo out; echo err >&2", End::Code(0), "out\n", "err\n").await;
    check("printf part; exit 7", End::Code(7), "part", "").await;
    check("kill -SEGV $$", End::Signal(11), "", "").await;
    check("kill -KILL $$", End::Signal(9), "", "").await;
    check(r"printf '\377\000a'", End::Code(0), "\u{fffd}\0a", "").await;
    check("cat", End::Code(0), "", "").await;
}

#[tokio::test]
async fn stdin_is_fed_whole_and_may_be_ignored() {
    let text = "line of input\n".repeat(100_000);
    let exited =
        run(Spawn { stdin: text.clone().into(), max_stream: 4 << 20, ..shell("cat") }).await;
    assert_eq!(exited.end, End::Code(0));
    assert!(exited.stdout == text, "{} of {} bytes", exited.stdout.len(), text.len());
    let exited = run(Spawn { stdin: text.into(), ..shell("exit 3") }).await;
    assert_eq!(exited.end, End::Code(3));
}

#[tokio::test]
async fn a_flood_is_counted_not_kept() {
    let lines = Arc::new(Mutex::new(0_u32));
    let counter = lines.clone();
    let count: OnLine = Arc::new(move |_, _| *counter.lock().unwrap() += 1);
    let step = Spawn { max_stream: 1000, ..shell("yes | head -c 1000000000; echo end >&2") };
    let exited = supervisor().run(step, &CancellationToken::new(), Some(count)).await;
    assert_eq!(exited.end, End::Code(0));
    assert_eq!((exited.stdout.len(), exited.stdout_cut), (1000, 999_999_000));
    assert_eq!(exited.stderr, "end\n");
    assert!(*lines.lock().unwrap() < 1_000_000, "lines of a flood are thinned out");
}

#[tokio::test]
async fn a_cut_never_splits_a_character() {
    let exited = run(Spawn { max_stream: 4, ..shell("printf 'äöü'") }).await;
    assert_eq!((exited.stdout.as_str(), exited.stdout_cut), ("äö", 2));
    let exited = run(Spawn { max_stream: 3, ..shell("printf 'äöü'") }).await;
    assert_eq!((exited.stdout.as_str(), exited.stdout_cut), ("ä", 4));
    let exited = run(Spawn { max_stream: 0, ..shell("printf 'äöü'") }).await;
    assert_eq!((exited.stdout.as_str(), exited.stdout_cut), ("", 6));
}

#[tokio::test]
async fn lines_are_shown_in_order_while_it_runs() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    let show: OnLine =
        Arc::new(move |stream, line: &str| sink.lock().unwrap().push((stream, line.to_owned())));
    let step = shell(r"printf 'a\r\nb'; printf 'c\nd'; echo e >&2");
    supervisor().run(step, &CancellationToken::new(), Some(show)).await;
    let seen = seen.lock().unwrap();
    let of = |wanted| -> Vec<&str> {
        seen.iter().filter(|(stream, _)| *stream == wanted).map(|(_, line)| line.as_str()).collect()
    };
    assert_eq!((of(Stream::Stdout), of(Stream::Stderr)), (vec!["a", "bc", "d"], vec!["e"]));
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    async fn check(step: Spawn, expected: &str) {
        match run(step).await.end {
            End::NotStarted(reason) => assert_eq!(reason, expected),
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
    check(spawn(&["./x"]), "there is no program `./x`").await;
    check(spawn(&["/tmp"]), "`/tmp` is a directory, not a program").await;
    check(spawn(&[]), "the command has no program").await;
    check(
        Spawn { cwd: "/no/such/place".into(), ..shell("true") },
        "there is no directory `/no/such/place` to run in",
    )
    .await;
    check(
        Spawn { cwd: directory.path().into(), ..spawn(&["./data"]) },
        "`./data` is not executable",
    )
    .await;
    check(
        Spawn { cwd: directory.path().into(), ..spawn(&["./odd"]) },
        "the interpreter that `./odd` names is not there",
    )
    .await;
    check(spawn(&["echo", "a\0b"]), "an argument or a variable of `echo` holds a zero byte").await;
    let huge = "x".repeat(3 << 20);
    check(
        spawn(&["echo", &huge]),
        "the arguments and environment of `echo` are larger than the system allows",
    )
    .await;
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn time_silence_and_cancelling_stop_the_whole_group() {
    let sleeper = "sleep 1000 & echo $! > $OUT; wait";
    let short = Some(Duration::from_millis(200));
    let exited = check_gone(sleeper, |step| Spawn { timeout: short, ..step }).await;
    assert_eq!(exited.end, End::TimedOut);
    let exited = check_gone(sleeper, |step| Spawn { idle: short, ..step }).await;
    assert_eq!(exited.end, End::Idle);
    assert!(exited.duration < Duration::from_secs(2), "{:?}", exited.duration);
}

#[tokio::test]
async fn output_on_either_stream_is_no_silence() {
    let talks = "for i in 1 2 3 4 5; do sleep 0.2; echo $i >&2; done";
    let exited = run(Spawn { idle: Some(Duration::from_millis(900)), ..shell(talks) }).await;
    assert_eq!(exited.end, End::Code(0));
}

#[tokio::test]
async fn cancelling_stops_and_keeps_what_was_said() {
    let (cancel, heard) = (CancellationToken::new(), CancellationToken::new());
    let (trigger, mark) = (cancel.clone(), heard.clone());
    let show: OnLine = Arc::new(move |_, _| {
        mark.cancel();
        trigger.cancel();
    });
    let exited = supervisor().run(shell("echo ready; sleep 1000"), &cancel, Some(show)).await;
    assert_eq!((exited.end, exited.stdout.as_str()), (End::Cancelled, "ready\n"));
    assert!(heard.is_cancelled());
    let exited = supervisor().run(shell("echo never"), &cancel, None).await;
    assert_eq!((exited.end, exited.stdout.as_str()), (End::Cancelled, ""));
}

#[tokio::test]
async fn ignoring_sigterm_only_buys_the_grace() {
    let stubborn = "trap '' TERM; echo $$ > $OUT; while :; do sleep 0.1; done";
    let exited =
        check_gone(stubborn, |step| Spawn { timeout: Some(Duration::from_millis(300)), ..step })
            .await;
    assert_eq!(exited.end, End::TimedOut);
    assert!(exited.duration >= Duration::from_millis(2200), "{:?}", exited.duration);
}

#[tokio::test]
async fn a_step_ends_with_its_main_process() {
    let exited = check_gone("sleep 1000 & echo $! > $OUT; echo done", |step| step).await;
    assert_eq!((exited.end, exited.stdout.as_str()), (End::Code(0), "done\n"));
    assert!(exited.duration < Duration::from_secs(20), "{:?}", exited.duration);
    let stubborn = "(trap '' TERM HUP; sleep 1000) & echo $! > $OUT";
    assert_eq!(check_gone(stubborn, |step| step).await.end, End::Code(0));
}

#[tokio::test]
async fn leaving_the_group_is_no_way_out() {
    let left = "setsid sh -c 'echo $$ > $OUT; exec sleep 1000' >/dev/null 2>&1 & \
                while [ ! -s $OUT ]; do sleep 0.01; done";
    assert_eq!(check_gone(left, |step| step).await.end, End::Code(0));
    let twice = "setsid sh -c 'setsid sh -c \"echo \\$\\$ > $OUT; exec sleep 1000\" & wait' & \
                 while [ ! -s $OUT ]; do sleep 0.01; done";
    assert_eq!(check_gone(twice, |step| step).await.end, End::Code(0));
}

/// Not a test by itself: what has wiped its mark ends once no other step runs, so nothing else of
/// this program may run beside it.
#[tokio::test]
#[ignore = "started by another test"]
async fn wiper() {
    let wiped = "env -i OUT=$OUT setsid sh -c 'echo $$ > $OUT; exec sleep 1000' & \
                 while [ ! -s $OUT ]; do sleep 0.01; done";
    assert_eq!(check_gone(wiped, |step| step).await.end, End::Code(0));
}

#[test]
fn wiping_the_environment_is_no_way_out() {
    assert!(in_own_process("process::wiper").status().unwrap().success());
}

fn in_own_process(test: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored"]).stdout(std::process::Stdio::null());
    command
}

#[tokio::test]
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
    assert_eq!((exited.end, exited.stdout.as_str()), (End::Code(0), "alive\n"));
}

#[tokio::test]
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
    let pid = std::fs::read_to_string(&out).unwrap();
    wait_until("its end", || !is_alive(pid.trim()));
}

#[tokio::test]
async fn the_environment_is_what_is_declared() {
    let own = [("PATH", "/usr/bin:/bin"), ("LC_ALL", "C"), ("SECRET", "x"), ("MINE", "y")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let base = BaseEnvironment::select(own, &["MINE".into()]);
    let mut step = spawn(&["env"]);
    step.env = vec![("MINE".into(), "z".into()), ("NEW".into(), "n".into())];
    let exited = Supervisor::new(base).run(step, &CancellationToken::new(), None).await;
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

#[test]
fn dangerous_variables_are_known_whatever_their_case() {
    for name in ["LD_PRELOAD", "ld_preload", "BASH_ENV", "NODE_OPTIONS", "GIT_SSH_COMMAND", "IFS"] {
        assert!(is_dangerous_variable(name), "{name}");
    }
    for name in ["FEATURE", "LANG", "LDFLAGS", "GITHUB_TOKEN", "NODE_ENV", "ENVIRONMENT"] {
        assert!(!is_dangerous_variable(name), "{name}");
    }
}

#[test]
fn the_level_has_a_name_and_words() {
    let level = supervisor().level();
    assert!(level == ProcessLevel::Group && level.as_str() == "group");
    assert!(level.description().contains("process group"));
}

/// Not a test by itself: [`kill_nine_of_the_holder_leaves_nothing`] runs it in a process of its own.
#[tokio::test]
#[ignore = "started and killed by another test"]
async fn holder() {
    let out = std::env::var("KB_TEST_OUT").unwrap();
    let mut step = shell(
        "touch $TMPDIR/leftover; setsid sleep 1000 & a=$!; sleep 1000 & \
         echo $$ $a $! $TMPDIR > $OUT.new; mv $OUT.new $OUT; wait",
    );
    step.env.push(("OUT".into(), out));
    run(step).await;
}

#[tokio::test]
async fn a_kb_inside_of_a_step_ends_with_all_of_its_steps() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("pids");
    let program = std::env::current_exe().unwrap().display().to_string();
    let mut step = spawn(&[&program, "--exact", "process::holder", "--ignored"]);
    step.env.push(("KB_TEST_OUT".into(), out.display().to_string()));
    let cancel = CancellationToken::new();
    let trigger = async {
        while !out.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let supervisor = supervisor();
    let (exited, ()) = tokio::join!(supervisor.run(step, &cancel, None), trigger);
    assert_eq!(exited.end, End::Cancelled);
    let text = std::fs::read_to_string(&out).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(!words[..3].iter().any(|pid| is_alive(pid)), "{text}");
    let temporary = supervisor.temporary_directory().unwrap();
    assert!(Path::new(words[3]).starts_with(temporary), "{} in {temporary:?}", words[3]);
}

#[test]
fn kill_nine_of_the_holder_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let out: PathBuf = directory.path().join("pids");
    let mut holder = in_own_process("process::holder").env("KB_TEST_OUT", &out).spawn().unwrap();
    wait_until("the step", || out.exists());
    let text = std::fs::read_to_string(&out).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words[..3].iter().all(|pid| is_alive(pid)), "{text}");
    holder.kill().unwrap();
    holder.wait().unwrap();
    wait_until("their end", || !words[..3].iter().any(|pid| is_alive(pid)));
    wait_until("the removal of TMPDIR", || !Path::new(words[3]).exists());
}

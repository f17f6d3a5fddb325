//! Sessions: processes whose stdin stays open.

use super::*;
use kb::process::{Session, SessionError};
use serde_json::{Value, json};

const LINE: usize = 1 << 20;
const WAIT: Duration = Duration::from_secs(60);

async fn begin(spawn: Spawn) -> Session {
    supervisor().session(spawn, &CancellationToken::new()).await.unwrap()
}

async fn line(session: &mut Session) -> Option<String> {
    session.line(LINE, WAIT).await.unwrap()
}

at_both_levels! {
    async fn lines_and_bytes_go_both_ways_until_the_input_is_closed() {
        let mut session = begin(Spawn { stdin: b"first\n".to_vec(), ..spawn(&["cat"]) }).await;
        assert_eq!(line(&mut session).await.as_deref(), Some("first"));
        for n in 0..200 {
            session.send_line(&format!("line {n}")).await.unwrap();
            assert_eq!(line(&mut session).await, Some(format!("line {n}")));
        }
        session.send(vec![0, 255, 10, 13]).await.unwrap();
        let mut bytes = Vec::new();
        while bytes.len() < 4 {
            bytes.extend(session.bytes().await.unwrap());
        }
        assert_eq!(bytes, [0, 255, 10, 13]);
        session.send("no end").await.unwrap();
        session.close_input();
        assert_eq!(line(&mut session).await.as_deref(), Some("no end"));
        assert_eq!(line(&mut session).await, None);
        assert_eq!(session.send_line("late").await, Err(SessionError::NotRead));
        assert_eq!(session.end(WAIT).await.end, ProcessEnd::Code(0));
    }
}

/// Answers each request with its id, and reports on stderr.
const SERVER: &str = "import json, sys
for text in sys.stdin:
    asked = json.loads(text)
    print('asked', asked['id'], file=sys.stderr)
    print(json.dumps({'id': asked['id'], 'size': len(asked['text'])}), flush=True)
";

at_both_levels! {
    async fn a_server_in_python_answers_each_request() {
        let mut session = begin(spawn(&["python3", "-c", SERVER])).await;
        for id in 0..20 {
            // Longer than a pipe holds.
            let text = "x".repeat(id * 20_000);
            session.send_line(&json!({"id": id, "text": text}).to_string()).await.unwrap();
            let answer: Value = serde_json::from_str(&line(&mut session).await.unwrap()).unwrap();
            assert_eq!(answer, json!({"id": id, "size": text.len()}));
        }
        let ended = session.end(WAIT).await;
        assert_eq!(ended.end, ProcessEnd::Code(0));
        assert!(ended.stderr.ends_with("asked 19\n") && ended.stdout.is_empty(), "{ended:?}");
    }
}

at_both_levels! {
    async fn a_flood_waits_in_the_process_and_not_in_memory() {
        let directory = tempfile::tempdir().unwrap();
        let count = directory.path().join("count");
        let script = "i=0; while :; do printf '%01000d\\n' $i; i=$((i+1)); echo $i > \"$OUT\"; done";
        let env = vec![("OUT".to_owned(), count.display().to_string())];
        let mut session = begin(Spawn { env, ..shell(script) }).await;
        assert_eq!(line(&mut session).await, Some("0".repeat(1000)));
        let lines = || std::fs::read_to_string(&count).unwrap_or_default().trim().parse().unwrap_or(0u64);
        while lines() <= 1_000 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut before = lines();
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            if lines() == before {
                break;
            }
            before = lines();
        }
        // What is read and what the pipe holds are some megabytes at most.
        assert!(before < 4_000, "{before}");
        for n in 1..5_000u32 {
            assert_eq!(line(&mut session).await, Some(format!("{n:01000}")));
        }
        drop(session);
        while !alive::with_variable("OUT", &count).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

at_both_levels! {
    async fn a_line_has_the_length_that_who_reads_allows() {
        let script = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo next; cat";
        let mut session = begin(shell(script)).await;
        let long = session.line(4 << 20, WAIT).await.unwrap().unwrap();
        assert_eq!(long.len(), 3_000_000);
        assert_eq!(line(&mut session).await.as_deref(), Some("next"));
        let mut session = begin(shell(script)).await;
        assert_eq!(session.line(LINE, WAIT).await, Err(SessionError::TooLong(LINE)));
        assert_eq!(session.line(LINE, WAIT).await, Err(SessionError::TooLong(LINE)));
        assert_eq!(session.end(WAIT).await.end, ProcessEnd::Cancelled);
    }
}

at_both_levels! {
    async fn a_process_that_never_answers_is_stopped_by_a_limit() {
        let wait = Duration::from_millis(200);
        let mut session = begin(spawn(&["sleep", "600"])).await;
        assert_eq!(session.line(LINE, wait).await, Err(SessionError::Silent(wait)));
        assert_eq!(session.end(wait).await.end, ProcessEnd::Cancelled);

        let limited = Spawn { timeout: Some(wait), ..spawn(&["sleep", "600"]) };
        let mut session = begin(limited).await;
        assert_eq!(line(&mut session).await, None);
        assert_eq!(session.end(WAIT).await.end, ProcessEnd::TimedOut);

        let cancel = CancellationToken::new();
        let mut session = supervisor().session(spawn(&["cat"]), &cancel).await.unwrap();
        cancel.cancel();
        assert_eq!(line(&mut session).await, None);
        assert_eq!(session.end(WAIT).await.end, ProcessEnd::Cancelled);
    }
}

at_both_levels! {
    async fn what_was_said_before_an_exit_in_mid_turn_is_read() {
        let mut session = begin(shell("read x; echo \"got $x\"; printf part; echo why >&2; exit 3")).await;
        session.send_line("it").await.unwrap();
        assert_eq!(line(&mut session).await.as_deref(), Some("got it"));
        assert_eq!(line(&mut session).await.as_deref(), Some("part"));
        assert_eq!(line(&mut session).await, None);
        assert_eq!(session.send_line("more").await, Err(SessionError::NotRead));
        let ended = session.end(WAIT).await;
        assert_eq!((ended.end, ended.stderr.as_str()), (ProcessEnd::Code(3), "why\n"));
        let missing = supervisor().session(spawn(&["no-such-program"]), &CancellationToken::new()).await;
        assert!(missing.err().unwrap().contains("no-such-program"));
    }
}

at_both_levels! {
    async fn the_sandbox_holds_for_a_session() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let script = "while read path; do (echo x > \"$path\") 2>/dev/null && echo wrote || echo refused; done";
        let held = supervisor().confined(Confinement::to([inside.path().to_owned()]));
        let order = Spawn { cwd: inside.path().to_owned(), ..shell(script) };
        let mut session = held.session(order, &CancellationToken::new()).await.unwrap();
        for (place, said) in [(inside.path(), "wrote"), (outside.path(), "refused")] {
            session.send_line(&place.join("f").display().to_string()).await.unwrap();
            assert_eq!(line(&mut session).await.as_deref(), Some(said));
        }
        assert!(!outside.path().join("f").exists());
    }
}

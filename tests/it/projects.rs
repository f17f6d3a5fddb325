//! Several projects in one process, each with its own environment, secrets and state.

use crate::scratch::Scratch;
use kb::clock::Clock;
use kb::project::ProjectFolder;
use kb::run::RunStatus;
use kb::service::runs::ProjectContext;
use kb::service::{self, Environment, Project, StartRequest};
use kb::value::Timestamp;
use std::collections::BTreeMap;
use std::path::Path;
use tokio::sync::mpsc::unbounded_channel;

const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps:\n  \
    - {id: a, run: 'printf \"%s %s\" \"$NAME\" \"$SECRET\" > seen; cat seen', env: {SECRET: '{{secrets.S}}'}}\n\
    outputs: {text: '{{a.output}}'}\n";

fn environment(folder: &Path, name: &str, secret: &str) -> Environment {
    let root = folder.join("project");
    std::fs::create_dir_all(root.join(".kb/playbooks")).unwrap();
    std::fs::write(root.join(".kb/playbooks/p.yml"), PLAYBOOK).unwrap();
    let settings = "schema: kb.config/1\nenv: {pass: [NAME]}\nsecrets: {S: {env: S}}\n";
    std::fs::write(root.join(".kb/kb.config.yml"), settings).unwrap();
    let path = std::env::var("PATH").unwrap();
    let state = folder.join("state").display().to_string();
    let variables: BTreeMap<String, String> =
        [("PATH", &*path), ("NAME", name), ("S", secret), ("XDG_STATE_HOME", &*state)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    Environment::new(root, variables, Clock::system())
}

async fn run(environment: Environment) -> String {
    let project = Project::find(&environment).unwrap_or_else(|error| panic!("{error}"));
    let request = StartRequest { definition: "p".to_owned(), ..StartRequest::default() };
    let prepared = service::start(project, request, None).await;
    let prepared = prepared.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let run = prepared.run().to_string();
    let (_keep, commands) = unbounded_channel();
    let ended = prepared.drive(None, commands).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ended.status, RunStatus::Succeeded, "{:?}", ended.failure);
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn two_projects_run_in_one_process_with_their_own_environments_and_secrets() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = environment(one.path(), "first", "secret-of-the-first-8c1");
    let second = environment(two.path(), "second", "secret-of-the-second-5d2");
    let (a, b) = tokio::join!(run(first.clone()), run(second.clone()));
    let seen = |folder: &Path| std::fs::read_to_string(folder.join("project/seen")).unwrap();
    assert_eq!(seen(one.path()), "first secret-of-the-first-8c1");
    assert_eq!(seen(two.path()), "second secret-of-the-second-5d2");
    for (environment, run, name) in [(&first, &a, "first"), (&second, &b, "second")] {
        let context = ProjectContext::find(environment).unwrap();
        let (outputs, _) = service::run_output(&context, run, None).unwrap();
        assert_eq!(outputs["text"], format!("{name} «secret:S»"), "{outputs}");
        assert_eq!(service::list_runs(&context, &service::RunFilter::newest(9)).unwrap().len(), 1);
        assert!(context.state_dir.starts_with(environment.state_base()));
    }
}

/// The times of a run are those of the clock of its environment, also beside a run with another clock.
#[tokio::test(flavor = "multi_thread")]
async fn two_projects_run_in_one_process_with_their_own_clocks() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let day = |text: &str| Timestamp::parse(&format!("{text}T00:00:00Z")).unwrap();
    let environments =
        [(one.path(), "2001-02-03"), (two.path(), "2041-05-06")].map(|(folder, date)| {
            let clock = Clock::starting_at(day(date));
            (Environment { clock, ..environment(folder, "x", "secret-of-both-71f") }, date)
        });
    let [(first, _), (second, _)] = environments.clone();
    let (a, b) = tokio::join!(run(first), run(second));
    for ((environment, date), run) in environments.iter().zip([a, b]) {
        let context = ProjectContext::find(environment).unwrap();
        let shown = service::show_run(&context, &run).unwrap();
        let mut times = vec![shown.started_at.clone()];
        times.extend(shown.ended_at.clone());
        times.extend(shown.steps.iter().flat_map(|step| step.started_at.clone()));
        let mut events = service::read_run(&context, &run).unwrap();
        while let Some(page) = events.next_events().unwrap() {
            times.extend(page.iter().map(|event| event.at.rfc3339()));
        }
        assert!(times.len() > 8 && times.iter().all(|time| time.starts_with(date)), "{times:?}");
    }
}

/// Relative paths start from the working directory of the environment, not of the process.
#[test]
fn relative_paths_start_from_the_given_working_directory() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path(), "x", "y");
    let sub = folder.path().join("project/sub");
    std::fs::create_dir(&sub).unwrap();
    std::fs::write(sub.join("q.yml"), PLAYBOOK.replace("id: p", "id: q")).unwrap();
    let environment = Environment { cwd: sub, ..environment };
    let project = Project::find_or_file(&environment, "q.yml").unwrap();
    assert_eq!(project.playbook("q.yml").unwrap().path, "sub/q.yml");
    let root = ProjectFolder::find(&environment.cwd, &environment.state_base()).unwrap();
    assert_eq!(root.root(), project.context.root);
}

/// Only root can give files to another user.
#[test]
fn the_project_of_another_user_is_refused_until_it_is_trusted() {
    let scratch = Scratch::new(&[(
        ".kb/playbooks/p.yml",
        "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: touch ran}]\n",
    )]);
    let kb = scratch.root().join(".kb");
    if !rustix::process::geteuid().is_root() {
        return;
    }
    std::os::unix::fs::chown(&kb, Some(65_534), None).unwrap();
    for args in [&["playbook", "list"][..], &["playbook", "run", "p"], &["run", "list"], &["serve"]]
    {
        scratch.kb(args).code(5).says(&[
            "error[KB0813]",
            "belongs to another user (65534)",
            "kb doctor --trust",
        ]);
    }
    scratch.kb(&["doctor"]).code(5).says(&["belongs to another user"]);
    assert!(!scratch.has("ran"));
    scratch.kb(&["doctor", "--trust"]).says(&["trusts the owner of"]);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    assert!(scratch.has("ran"));
}

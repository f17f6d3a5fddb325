//! Records that somebody or something changed: the others are listed, and nothing changed is executed.

use super::site::Site;
use crate::scratch::Scratch;
use kb::trigger::Role;
use rusqlite::Connection;

const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, run: echo first}\n  - {id: b, run: \"test -e go && echo second >> log\", dependsOn: [a]}\n";

fn database(scratch: &Scratch) -> Connection {
    let projects = scratch.root().parent().unwrap().join("state/kb");
    let folder = std::fs::read_dir(projects).unwrap().next().unwrap().unwrap().path();
    Connection::open(folder.join("journal.sqlite3")).unwrap()
}

/// Changes of one of three records, and what names it.
const CHANGES: [(&str, &str); 7] = [
    ("UPDATE runs SET run = 'no id!' WHERE number = 2", "its id is damaged"),
    ("UPDATE runs SET status = 'upside down' WHERE number = 2", "its status is damaged"),
    ("UPDATE frozen SET body = '{\"version\"' WHERE number = 2", "its frozen state is damaged"),
    ("UPDATE frozen SET body = '{}' WHERE number = 2", "missing field `version`"),
    (
        "UPDATE frozen SET body = replace(body, 'run: echo first', 'rum: echo first') WHERE number = 2",
        "do not load",
    ),
    ("DELETE FROM frozen WHERE number = 2", "its frozen state is damaged"),
    (
        "UPDATE events SET body = '{' WHERE position = (SELECT min(position) FROM events WHERE position > 2 << 40)",
        "event 1 is damaged",
    ),
];

#[test]
fn one_damaged_record_hides_no_other() {
    let site = Site::new(&[("playbooks/p.yml", PLAYBOOK), ("go", "")]);
    let (token, scratch) = (site.token(Role::Read), &site.scratch);
    for _ in 0..3 {
        scratch.kb(&["playbook", "run", "p"]).code(0);
    }
    let database = database(scratch);
    database.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let ids = [1, 2, 3].map(|number: i64| -> String {
        let id = "SELECT run FROM runs WHERE number = ?1";
        database.query_row(id, [number], |row| row.get(0)).unwrap()
    });
    for (change, named) in CHANGES {
        let undo = ["runs", "frozen", "events"].map(|table| {
            let copy =
                format!("CREATE TEMP TABLE IF NOT EXISTS kept_{table} AS SELECT * FROM {table}");
            database.execute_batch(&copy).unwrap();
            format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept_{table};")
        });
        database.execute_batch(change).unwrap();
        let said = scratch.kb(&["run", "list"]).code(0);
        assert!(said.out.contains(&ids[0]) && said.out.contains(&ids[2]), "{change}\n{}", said.out);
        assert!(said.err.contains(named), "{change}\n{}", said.err);
        assert!(said.err.contains("run `"), "{change}\n{}", said.err);
        let is_named = |line: &str| line.contains(&ids[1]) && line.contains("damaged");
        let in_table = !change.starts_with("UPDATE runs");
        assert_eq!(said.out.lines().any(is_named), in_table, "{change}\n{}", said.out);
        scratch.kb(&["run", "show", "@last"]).code(0);
        for address in ["/", "/api/v1/runs"] {
            let answer = site.get(address, &token);
            assert_eq!(answer.status, 200, "{change} {address}\n{}", answer.text());
            let text = answer.text();
            assert!(text.contains(&ids[0]) && text.contains(&ids[2]), "{change} {address}\n{text}");
            assert!(address != "/" || text.contains(named), "{change}\n{text}");
        }
        assert_eq!(site.get("/metrics", &token).status, 200, "{change}");
        database.execute_batch(&undo.concat()).unwrap();
    }
}

/// The frozen definition of a run that waits is edited: nothing of it is executed, whatever continues it.
#[test]
fn an_edited_definition_of_a_run_is_not_executed() {
    let scratch = Scratch::new(&[("playbooks/p.yml", PLAYBOOK)]);
    scratch.kb(&["playbook", "run", "p"]).code(1);
    let database = database(&scratch);
    let edit = "UPDATE frozen SET body = replace(body, 'echo second', 'echo third')";
    assert_eq!(database.execute(edit, []).unwrap(), 1);
    scratch.write("go", "");
    for args in [&["run", "retry", "@last"][..], &["run", "retry", "@last", "--from", "a"]] {
        let said = scratch.kb(args).code(5);
        said.says(&["KB0861", "is not what was recorded", "kb run verify"]);
    }
    assert!(!scratch.has("log"));
    database
        .execute("UPDATE frozen SET body = replace(body, 'echo third', 'echo second')", [])
        .unwrap();
    database
        .execute_batch(
            "CREATE TEMP TABLE kept AS SELECT head FROM runs; UPDATE runs SET head = zeroblob(32)",
        )
        .unwrap();
    scratch.kb(&["run", "retry", "@last"]).code(5).says(&["KB0861", "the head that is kept"]);
    database.execute_batch("UPDATE runs SET head = (SELECT head FROM kept)").unwrap();
    scratch.kb(&["run", "retry", "@last"]).code(0);
    assert_eq!(scratch.read("log"), "second\n");
}

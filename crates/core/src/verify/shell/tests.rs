//! The table of cases: what exit code 0 of a script proves about `t`.

use super::*;

/// What is known about the first use of `t`: `proven`, `none` if it is not used, `unparsed`, or why it
/// is masked.
fn known(script: &Script) -> &'static str {
    if script.unparsed.is_some() {
        return "unparsed";
    }
    let used = script.commands.iter().find(|used| used.argv[0] == "t");
    used.map_or("none", |used| used.masked.unwrap_or("proven"))
}

#[test]
fn exit_code_0_of_a_script_proves_commands_that_must_have_succeeded() {
    for (script, expected) in [
        ("t", "proven"),
        ("  t   a  ", "proven"),
        ("cd x && t", "proven"),
        ("t && true", "proven"),
        ("(cd x && t)", "proven"),
        ("{ cd x; t; }", "proven"),
        ("A=1 t", "proven"),
        ("env A=1 t", "proven"),
        ("timeout 60 t", "proven"),
        ("nice -n 5 t", "proven"),
        ("nice -19 ionice -c3 t", "proven"),
        ("time -p t", "proven"),
        ("stdbuf -oL t", "proven"),
        ("setsid -w t", "proven"),
        ("command -p t", "proven"),
        ("t > log 2>&1", "proven"),
        ("t &> log", "proven"),
        ("t | cat", "proven"),
        ("t |& tail -5", "proven"),
        ("t; echo done", "proven"),
        ("t\necho done", "proven"),
        ("t # comment | cat", "proven"),
        ("bash -c t", "proven"),
        ("bash -c 't'", "proven"),
        ("sh -ec 't; echo x'", "proven"),
        ("t || exit 1", "proven"),
        ("t || exit 1; echo done", "proven"),
        ("set +e; t", "proven"),
        ("set +e; t; exit $?", "proven"),
        ("t; exit 0", "proven"),
        ("set -x; t", "proven"),
        ("cat > f <<'EOF'\nx | y || $(z)\nEOF\nt", "proven"),
        ("a \\\n  && t", "proven"),
        ("source .venv/bin/activate && t", "proven"),
        ("echo \"$HOME ${X:-1}\" && t", "proven"),
        ("(t | cat) && echo x", "proven"),
        ("t || true", OR),
        ("t || echo failed", OR),
        ("t || exit 0", OR),
        ("t && a || b", OR),
        ("a || t", OR),
        ("! t", NEGATED),
        ("t &", BACKGROUND),
        ("t & wait", BACKGROUND),
        ("set +e; t; true", LATER),
        ("set +e\nt\necho done", LATER),
        ("set +o pipefail; t | cat", PIPE),
        ("t && a; echo done", LATER),
        ("cd x && t; echo done", LATER),
        ("bash -c 't; true'", LATER),
        ("bash -c 't | cat'", PIPE),
        ("sh -c 't || true'", OR),
        ("(t; true) || exit 1", LATER),
        ("{ t; true; } && a", LATER),
        ("a && exit 0; t", EXIT),
        ("source x.sh; t", SOURCED),
        ("PATH=fake:$PATH t", PATH),
        ("export PATH=fake; t", PATH),
        ("LD_PRELOAD=x t", PATH),
        ("exit 0; t", "none"),
        ("exit 0\nt", "none"),
        ("exec a b; t", "none"),
        ("echo t", "none"),
        ("echo 't && t'", "none"),
        ("# t", "none"),
        ("", "none"),
        ("if t; then a; fi", "unparsed"),
        ("for x in a; do t; done", "unparsed"),
        ("while t; do a; done", "unparsed"),
        ("t() { true; }; t", "unparsed"),
        ("x=$(t)", "unparsed"),
        ("x=`t`", "unparsed"),
        ("echo \"$(t)\"", "unparsed"),
        ("trap 'exit 0' EXIT; t", "unparsed"),
        ("eval t", "unparsed"),
        ("t <(a)", "unparsed"),
        ("[[ a ]] && t", "unparsed"),
        ("t 'open", "unparsed"),
        ("t && (a", "unparsed"),
        ("cat <<EOF\nt", "unparsed"),
        ("set -n; t", "unparsed"),
        ("bash -nc t", "unparsed"),
    ] {
        assert_eq!(known(&Script::of_text(script)), expected, "{script}");
    }
}

#[test]
fn arguments_without_a_shell_are_one_command() {
    let argv = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for (words, expected) in [
        (&["t", "a"][..], "proven"),
        (&["t", "|", "cat"], "proven"),
        (&["sh", "-c", "t | cat"], PIPE),
        (&["bash", "-o", "pipefail", "-c", "t | cat"], "proven"),
        (&["/bin/bash", "-c", "t"], "proven"),
        (&["bash", "t"], "none"),
        (&["echo", "t"], "none"),
    ] {
        assert_eq!(known(&Script::of(&argv(words))), expected, "{words:?}");
    }
}

#[test]
fn quotes_and_wrappers_do_not_change_a_command() {
    for text in [
        "cargo test --lib \"a b\"",
        "cargo  test --lib 'a b'",
        "cargo test --lib a\\ b",
        "RUST_LOG=x cargo test --lib 'a b' 2>&1",
        "bash -c \"cargo test --lib 'a b'\"",
        "cd sub && cargo test --lib 'a b'",
        "env -u X timeout -k 1 60 cargo test --lib 'a b'",
    ] {
        let script = Script::of_text(text);
        let main: Vec<_> = script.main_commands().iter().map(|used| used.argv.join("|")).collect();
        assert_eq!(main, ["cargo|test|--lib|a b"], "{text}");
    }
}

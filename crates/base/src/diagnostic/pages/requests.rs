//! Pages of `KB085x`: arguments and parameters of a command.

pages! { TABLE;
    BAD_ARGUMENT = "KB0850", "invalid argument",
r#"An argument of the command line does not have the required form. The message names the argument and
the form.

    $ kb playbook new "My Playbook"
    error[KB0850]: `My Playbook` is not a valid playbook id: expected a lower-case letter, then …

`kb COMMAND --help` describes every argument."#;

    PATH_UNUSABLE = "KB0851", "file or folder cannot be used",
r#"The system refused to read or write a path that the command needs: no permission, a read-only or
full disk, or a file where a folder is expected. The message contains the path and the error of the
system.

`kb doctor` checks the project, the state folder and the journal."#;

    PARAMETER_FILE = "KB0852", "invalid parameter file",
r#"`--params FILE` takes a YAML or JSON file that maps parameter names to values:

    featureName: greeting
    scope: src

Values have the declared types: a list is a YAML list, a number a YAML number. `--param` overrides the
file."#;

    PARAMETER_UNKNOWN = "KB0853", "unknown parameter",
r#"`--param NAME=VALUE` or the file of `--params` names a parameter that the definition does not declare.

    $ kb playbook run add-feature --param featurName=greeting
    error[KB0853]: there is no parameter `featurName`
      help: did you mean `featureName`?

`kb playbook show ID` lists the parameters."#;

    PARAMETER_MISSING = "KB0854", "missing parameter",
r#"A required parameter has no value: not on the command line, not in the file of `--params`, and it has
no default. On a terminal `kb` asks for it instead.

    $ kb playbook run add-feature --param featureName=greeting

`kb playbook show ID` lists the parameters."#;

    PARAMETER_INVALID = "KB0855", "invalid parameter value",
r#"The value has another type than declared, is not listed in `enum`, does not match `pattern`, is
outside `min` and `max`, violates `schema`, or is a literal value for a secret.

    params:
      - {name: count, type: integer, max: 5}      # accepts 3, but not `three` or 7
      - {name: token, type: secret}               # accepts env:TOKEN or file:token.txt

Secrets are passed by reference, because a literal value would remain in the history of the shell."#;

    NOT_ADOPTABLE = "KB0856", "runs of a former folder cannot be adopted",
r#"The runs of a project are recorded under the path of its folder. After a project was moved,
`kb doctor --adopt OLD` in the new folder gives it the runs that were recorded in the folder `OLD`. That is
refused if a project is still in `OLD`, if no runs are recorded there, if one of the runs executes, or if the
project in the new folder has runs of its own.

    $ mv shop store && cd store
    $ kb doctor --adopt ../shop"#;

    TEST_FAILED = "KB0870", "test of a playbook failed",
r#"A run of `kb playbook test` did not have the result that the test expects. The caret shows the
expectation, and the message what was found instead.

    error[KB0870]: expected `publish` to be skipped, found succeeded
     --> .kb/tests/release.test.yml:9:9

Change the playbook or the expectation. `--keep` keeps the project folder of a failed test; for a test
with `snapshot: true`, `--update` stores the new result."#;

    TEST_PLAYBOOK = "KB0871", "test of an unknown playbook",
r#"A test names a playbook or workflow that the project does not have.

    playbook: release-notes      # the id of a definition; `kb playbook list` lists them"#;
}

pages! { TABLE;
    BAD_ARGUMENT = "KB0850", "an argument cannot be used",
        "Something that was given on the command line has not the form that it must have.

    $ kb playbook new \"My Playbook\"
    error[KB0850]: `My Playbook` is not a valid playbook id: expected a lower-case letter, then …

The message names the argument and the form. `kb COMMAND --help` describes each of them.";

    PATH_UNUSABLE = "KB0851", "a folder or file cannot be used",
        "The system refused to read or write something that the command needs: a missing permission, a
read-only or full disk, a file where a folder must be.

The message has the path and the system's own words. `kb doctor` checks the project, the state folder
and the journal one by one.";

    PARAMETER_FILE = "KB0852", "the parameter file cannot be read",
        "`--params FILE` takes a YAML or JSON file that maps the names of parameters to their values.

    featureName: greeting
    scope: src

Values have the declared types: a list is a list, a number a number. What `--param` says holds over
the file.";

    PARAMETER_UNKNOWN = "KB0853", "there is no such parameter",
        "A name in `--param NAME=VALUE` or in the file of `--params` that the definition does not declare.

    $ kb playbook run add-feature --param featurName=greeting
    error[KB0853]: there is no parameter `featurName`
      help: did you mean `featureName`?

`kb playbook show ID` lists the parameters of a definition.";

    PARAMETER_MISSING = "KB0854", "a required parameter has no value",
        "The definition cannot run without it, and neither the command line, nor the file of `--params`, nor
a default gives it. On a terminal you are asked for it instead.

    $ kb playbook run add-feature --param featureName=greeting

`kb playbook show ID` lists what a definition needs.";

    PARAMETER_INVALID = "KB0855", "a parameter has another value than it may have",
        "The value is not of the declared type, not one of `enum`, does not match `pattern`, lies outside of
`min` and `max`, does not fit `schema`, or is a secret that is written out.

    params:
      - {name: count, type: integer, max: 5}      # takes 3, and neither `three` nor 7
      - {name: token, type: secret}               # takes env:TOKEN or file:token.txt

A secret is named and never written out: it would end in the history of your shell.";
}

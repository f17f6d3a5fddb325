pages! { TABLE;
    BAD_ARGUMENT = "KB0850", "an argument cannot be used",
        "Something that was given on the command line has not the form that it must have.

    $ kb playbook new \"My Playbook\"
    error[KB0850]: `My Playbook` is not a valid playbook id: expected a lower-case letter, then …

The message names the argument and the form. `kb COMMAND --help` describes each of them.";

    PLACE_UNUSABLE = "KB0851", "a folder or file cannot be used",
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
}

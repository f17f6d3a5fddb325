pages! { TABLE;
    INVALID_YAML = "KB0101", "not valid YAML",
        "The text is not YAML, so nothing in the file could be read. The caret stands where reading
became impossible; the cause is often a little before it.

    testResult?: 'passed' | 'failed'      # text after a closing quote

Quote a whole value that holds `: `, ` #`, or that starts with `{`, `[`, `*`, `&`, `!`, `@`, `%` or
a backtick; indent with spaces; close every quote and bracket. Only the first such problem of a
file can be found; the other files are not affected.";

    NOT_UTF8 = "KB0102", "not a UTF-8 text",
        "Definitions are UTF-8 texts. This file holds bytes that are none, or looks like a program, a
picture or an archive that came to lie in a folder of definitions.

    iconv -f latin1 -t utf-8 old.yml > new.yml

Save it as UTF-8 (a byte order mark at its start is fine), or move it out of the folder.";

    TOO_LARGE = "KB0103", "larger than a definition may be",
        "A definition has at most 1 MiB, a depth of 32, and aliases may add at most 10,000 nodes and
1 MiB of text. The limits keep one hostile or mistaken file from stopping everything.

    a: &a [x, x, x]
    b: &b [*a, *a, *a]        # and so on: a few lines become millions of nodes

Split the file, write long texts into files of their own (`taskFile:`), and nest less deeply.";

    EMPTY_FILE = "KB0104", "nothing in the file",
        "The file is empty or holds only comments, so there is no definition in it. A playbook starts
like this:

    schema: kb.playbook/1
    id: hello
    steps:
      - id: greet
        run: echo hello

Write a definition, or delete the file.";

    WRONG_TYPE = "KB0105", "a value of another type is expected here",
        "The key is known, but its value is of the wrong kind: a list where a text is expected, a text
where a map is expected, and so on. The message names what was found and what is expected.

    timeout: [5, minutes]       # expected: a duration such as `5m`
    name: 2024                  # a number; write \"2024\" where a text is meant

Write the value as the message says. `on`, `off`, `yes` and `no` are texts; only `true` and `false`
are booleans.";

    UNKNOWN_KEY = "KB0106", "unknown key",
        "A key that the language does not have at this place. Keys are refused rather than ignored,
because a misspelt key would otherwise silently do nothing.

    - id: build
      dependOn: [fetch]         # did you mean `dependsOn`?

Correct the spelling (camelCase; snake_case is accepted too) or remove the key. Keys of your own
belong into `env`, `input`, `set` and `params`.";

    DUPLICATE_KEY = "KB0107", "a key is written twice",
        "The same key stands twice in one map, or once in camelCase and once in snake_case. Only one
could count, and readers would not agree which.

    run: make
    run: make test              # which one?
    dependsOn: [a]
    depends_on: [b]             # the same key in its other spelling

Keep one of them.";

    MISSING_KEY = "KB0108", "a key is missing",
        "A map lacks a key that it cannot do without, such as `id` of a step or `steps` of a playbook.

    steps:
      - run: make               # `id` is missing

Add the key; the message says which and where.";

    UNQUOTED_PLACEHOLDER = "KB0109", "a placeholder without quotes",
        "YAML takes an unquoted `{` for the start of a map, so a value that begins with `{{` has to be
quoted.

    condition: {{ test.output.ok }}        # a map inside a map
    condition: \"{{ test.output.ok }}\"      # a text

Put the whole value into quotes.";

    FRONT_MATTER = "KB0110", "no front matter",
        "Workflows and agent profiles are markdown files that begin with YAML between two lines `---`.
The first line must be exactly `---`; the next line that is `---` or `...` ends the matter, also
inside a block text.

    ---
    name: Research
    steps: [...]
    ---
    # What it is for

Add the fences, or move the file out of the folder.";

    UNSUPPORTED_YAML = "KB0111", "a part of YAML that definitions do not use",
        "The text is YAML, but uses what definitions do without: merge keys `<<`, tags such as `!foo`,
lists or maps as keys, several documents in one file, or an alias inside of its own anchor.

    <<: *defaults               # use the playbook's `defaults:` instead

Write it out; `defaults:` of a playbook holds keys for all of its steps.";

    BAD_VALUE = "KB0112", "not one of the values that are possible here",
        "The kind of the value is right, but the value itself is not possible: a word that is not among
the choices, a number out of its range, a text that is no duration.

    runIf: allSuceeded          # did you mean `allSucceeded`?
    timeout: \"90\"               # write a unit: `90s`
    retry: {max: -1}

Use one of the values that the message names.";

    SCHEMA_VERSION = "KB0113", "the schema of the file is missing or not known",
        "The key `schema` says what a file is and in which version of the language it is written:
`kb.playbook/1`, `kb.specialist/1`, `kb.script/1`. Without it, or with a newer version, this `kb`
would have to guess.

    schema: kb.playbook/1
    id: add-feature

Add the key. Where the version is newer than this `kb` knows, update `kb`.";

    UNREADABLE_FILE = "KB0114", "the file cannot be read",
        "The operating system refused to hand out the file: it is not there, is a folder, or you may not
read it. The message has the system's own words.

    kb playbook validate playbooks/add-feature.yml

Check the path and its permissions.";
}

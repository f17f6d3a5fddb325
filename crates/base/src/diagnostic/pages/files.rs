//! Pages of `KB01xx`: reading files, YAML syntax, keys and types.

pages! { TABLE;
    INVALID_YAML = "KB0101", "invalid YAML",
r#"The file is not valid YAML, so no key of it was read. The caret marks the position at which the
parser stopped; the cause is often a few characters before it.

Wrong:

    testResult?: 'passed' | 'failed'      # text after a closing quote

Fixed:

    testResult?: passed | failed

Quote a value that contains `: ` or ` #`, or that starts with `{`, `[`, `*`, `&`, `!`, `@`, `%` or a
backtick. Indent with spaces. The parser reports only the first syntax error of a file; other files
are checked all the same."#;

    NOT_UTF8 = "KB0102", "file is not UTF-8 text",
r#"Definitions are UTF-8 text. This file contains other bytes: it has another encoding, or it is a
binary file in a folder of definitions.

Convert it:

    iconv -f latin1 -t utf-8 old.yml > new.yml

or move it out of the folder. A byte order mark at the start is accepted."#;

    TOO_LARGE = "KB0103", "definition is too large",
r#"A definition has at most 1 MiB of text and 32 levels of nesting, and its YAML aliases may add at
most 10,000 nodes and 1 MiB of text. The limits stop a small file that expands to millions of nodes.

Wrong:

    a: &a [x, x, x]
    b: &b [*a, *a, *a]        # each further line multiplies the number of nodes

Split the file, move long texts to files of their own (`taskFile:`), or nest less deeply."#;

    EMPTY_FILE = "KB0104", "file contains no definition",
r#"The file is empty or contains only comments. Delete it, or write a definition. The smallest
playbook is:

    schema: kb.playbook/1
    id: hello
    steps:
      - id: greet
        run: echo hello"#;

    WRONG_TYPE = "KB0105", "value has the wrong type",
r#"The key is valid, but its value has the wrong type: for example a list where a string is expected.
The message names the type that was found and the type that is expected.

Wrong:

    timeout: [5, minutes]
    name: 2024

Fixed:

    timeout: 5m
    name: "2024"

Only `true` and `false` are booleans; `on`, `off`, `yes` and `no` are strings."#;

    UNKNOWN_KEY = "KB0106", "unknown key",
r#"The language has no such key in this map. Unknown keys are errors because a misspelled key would
otherwise be ignored in silence.

Wrong:

    - id: build
      dependOn: [fetch]

Fixed:

    - id: build
      dependsOn: [fetch]

Keys are written in camelCase; snake_case is accepted as well. Keys of your own are allowed in `env`,
`input`, `set` and `params`."#;

    DUPLICATE_KEY = "KB0107", "duplicate key",
r#"A map contains the same key twice, or once in camelCase and once in snake_case. Only one of the
two values could take effect.

Wrong:

    run: make
    run: make test
    dependsOn: [a]
    depends_on: [b]

Fixed:

    run: make test
    dependsOn: [a, b]"#;

    MISSING_KEY = "KB0108", "missing key",
r#"A map lacks a required key, such as `id` of a step or `steps` of a playbook. The message names the
key.

Wrong:

    steps:
      - run: make

Fixed:

    steps:
      - id: build
        run: make"#;

    UNQUOTED_PLACEHOLDER = "KB0109", "placeholder without quotes",
r#"YAML reads an unquoted `{` as the start of a map, so a value that starts with `{{` must be quoted.

Wrong:

    condition: {{ test.output.ok }}

Fixed:

    condition: "{{ test.output.ok }}""#;

    FRONT_MATTER = "KB0110", "missing front matter",
r#"Workflows and agent profiles are markdown files with YAML front matter: the first line is exactly
`---`, and the next line that is `---` or `...` ends the front matter, even inside a block scalar.
This file has none.

Fixed:

    ---
    name: Research
    steps: [...]
    ---
    # Text of the document

Add the two `---` lines, or move the file out of the folder."#;

    UNSUPPORTED_YAML = "KB0111", "unsupported YAML feature",
r#"The file is valid YAML, but uses a feature that definitions do not support: merge keys (`<<`),
tags such as `!foo`, lists or maps as keys, several documents in one file, or an alias inside its own
anchor.

Wrong:

    steps:
      - id: build
        <<: *common

Fixed:

    defaults: {timeout: 10m}
    steps:
      - id: build

`defaults:` of a playbook sets keys for all of its steps."#;

    BAD_VALUE = "KB0112", "invalid value",
r#"The value has the right type but is not allowed: it is not one of the listed choices, is out of
range, or does not parse, for example as a duration. The message names the allowed values.

Wrong:

    runIf: allSuceeded
    timeout: "90"
    retry: {max: -1}

Fixed:

    runIf: allSucceeded
    timeout: 90s
    retry: {max: 2}"#;

    SCHEMA_VERSION = "KB0113", "missing or unsupported schema version",
r#"The key `schema` names the kind of the file and the version of the language: `kb.playbook/1`,
`kb.specialist/1` or `kb.script/1`. It is missing here, or names a version that this `kb` does not
support.

Fixed:

    schema: kb.playbook/1
    id: add-feature

If the version is newer than this `kb`, update `kb`."#;
}

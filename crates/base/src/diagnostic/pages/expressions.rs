//! Pages of `KB03xx`: expressions, templates and references.

pages! { TABLE;
    BAD_EXPRESSION = "KB0301", "invalid expression",
r#"The text of a condition or placeholder is not a valid expression.

Wrong:

    condition: "{{test.output.ok}} && {{build.output.ok}}"

Fixed:

    condition: "{{test.output.ok}} and {{build.output.ok}}"

The operators are `and`, `or`, `not`, `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `is defined`, `+`, `-`, `*`,
`/`, `//`, `%`, `~` (concatenation) and `a if condition else b`. Strings are quoted."#;

    UNKNOWN_NAME = "KB0302", "unknown name",
r#"An expression reads a name that is neither a parameter nor a step of this definition, or compares a
status or a verdict with a word that it never is, as in `{{test.status}} == 'success'`.

Wrong:

    task: "Summarise {{reserch.output}}"

Fixed:

    task: "Summarise {{research.output}}"

The names in scope are the parameters, the steps, `params`, `steps`, `run`, `env` and `secrets`, and in
a step with `forEach` also the item and `index`. Strings are quoted: `{{ 'done' }}`. The null value is
`none`."#;

    UNKNOWN_FIELD = "KB0303", "unknown field",
r#"A step, `run` or `loop` has no field of this name.

Wrong:

    condition: "{{test.result}} == 'failed'"

Fixed:

    condition: "{{test.output.result}} == 'failed'"

The fields of a step are `output`, `byKey`, `status`, `error`, `errors`, `verdict`, `verdictDetails`, `exitCode`,
`stdout`, `stderr`, `attempts` and `durationMs`. The result of the step is below `output`."#;

    UNKNOWN_FILTER = "KB0304", "unknown filter, test or function",
r#"An expression calls a filter, test or function that does not exist.

Wrong:

    task: "{{ plan.output.files | jion(', ') }}"

Fixed:

    task: "{{ plan.output.files | join(', ') }}"

Filters are `default`, `length`, `join`, `map`, `select`, `sort`, `upper`, `tojson`, … Tests follow `is`:
`defined`, `none`, `string`, … The only function is `range`. Values have no methods: write
`text | trim`, not `text.strip()`."#;

    BAD_PLACEHOLDER = "KB0305", "invalid placeholder",
r#"A placeholder is not closed, is empty, or stands inside a quoted string of an expression.

Wrong:

    task: "Write {{ featureName"
    condition: "'{{test.output.state}}' == 'failed'"

Fixed:

    task: "Write {{ featureName }}"
    condition: "{{test.output.state}} == 'failed'"

In a condition `{{ }}` acts as parentheses. To write two literal braces, use `\{{`."#;

    MISSPELLED_PLACEHOLDER = "KB0306", "placeholder is probably misspelled",
r#"`<< name >>` and, in workflows, `{step.key}` are placeholders only if they name a parameter, step or
output. This one differs from such a name by one or two letters, or names a step and no output of it, and would be
left as text. An output of a workflow step is what `outputs` of the step lists.

Wrong:

    task: "Add << fetureName >>"

Fixed:

    task: "Add << featureName >>"

If you mean the literal text, write `\<<` or `\{`."#;

    DASHED_NAME = "KB0307", "step id with `-` read as a subtraction",
r#"In an expression `-` is subtraction, so `add-test.output` would mean `add` minus `test.output`.

Wrong:

    condition: "{{add-test.output}}"

Fixed:

    condition: "{{add_test.output}}"

or:

    condition: "{{steps['add-test'].output}}""#;

    DYNAMIC_NAME = "KB0308", "computed step, variable or secret name",
r#"The step, variable or secret that an expression reads must be known when the definition is loaded,
because references determine the order of the steps.

Wrong:

    task: "{{ steps[params.which].output }}"

Fixed:

    task: "{{ build.output if params.which == 'build' else test.output }}""#;

    NAME_OUT_OF_SCOPE = "KB0309", "name is not in scope here",
r#"`item` and `index` exist only in the keys of a step with `forEach`. If `as` names the item, that
name replaces `item`. The `condition` of such a step is evaluated once, before there are items, and
cannot read them. `loop` exists only in the keys of a step with `loop`.

Wrong:

    - id: review
      forEach: "{{plan.output.files}}"
      condition: "{{item.changed}}"
      task: "Review {{item.path}}"

Fixed:

    - id: review
      forEach: "{{ plan.output.files | selectattr('changed') | list }}"
      task: "Review {{item.path}}""#;

    EXPRESSION_TOO_LONG = "KB0311", "expression is too long",
r#"An expression has at most 4,096 bytes and 500 operators. Compute intermediate values in a `set`
step:

    - id: facts
      set: {ready: "{{ ... }}"}"#;

    FOREIGN_PLACEHOLDER = "KB0312", "placeholder of another tool",
r#"A placeholder is `{{ expression }}`. The forms of shells, GitHub Actions, Python and template languages stay in
the text as they are written. This one names a parameter or step, so a value was probably meant.

Wrong:

    env: {NAME: "${{ who }}", FILE: "$path", URL: "{base}/x", TEXT: "$(build.output)"}

Fixed:

    env: {NAME: "{{ who }}", FILE: "{{path}}", URL: "{{base}}/x", TEXT: "{{build.output}}"}

There are no statements: in place of `{% if x %}` write `{{ a if x else b }}` or a `condition`, in place of
`{% for x in list %}` write `{{ list | join }}` or a step with `forEach`. If you mean the literal text, write
`{text: "$path", raw: true}` in place of the text. In shell scripts (`run: |`) and in the code after `bash -c`, `$x` is
a variable of the shell and not reported."#;

    UNDEFINED_VALUE = "KB0320", "undefined value",
r#"A template needs a value that does not exist: the step was skipped or failed, or its output has no
such key.

Wrong:

    task: "Fix: {{debug.output.reason}}"

Fixed, with a fallback:

    task: "Fix: {{debug.output.reason | default('unknown')}}"

or, to skip the step:

    condition: "{{debug.output.reason is defined}}""#;

    TYPE_MISMATCH = "KB0321", "values of these types cannot be compared",
r#"`<`, `<=`, `>` and `>=` order two numbers, two strings, two booleans or two lists. `in` searches
strings, lists and objects. Values are never converted implicitly.

Wrong:

    condition: "{{count.stdout}} > 3"           # stdout is a string

Fixed:

    condition: "{{count.stdout | int}} > 3"

`==` and `!=` accept any two values; values of different types are not equal."#;

    EVALUATION_FAILED = "KB0322", "evaluation failed",
r#"An operation does not work on the values that it received: a filter for lists got a number, a
divisor is zero, or a string is not JSON. The message names the operation.

Wrong:

    task: "{{ params.name | join(', ') }}"      # `name` is a string

Fixed:

    task: "{{ params.name }}"

`kb run output` shows the values."#;

    EXPRESSION_TOO_LARGE = "KB0323", "evaluation exceeds its limits",
r#"An expression or template produces at most 4 MiB and performs a bounded amount of work.

Wrong:

    task: "{{ 'x' * 1000000000 }}"

Write large data to a file in a `run` step, and pass the path of the file."#;
}

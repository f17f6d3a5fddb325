pages! { TABLE;
    BAD_EXPRESSION = "KB0301", "not a valid expression",
"The text of a condition, or of a placeholder, cannot be read as an expression.

    condition: \"{{test.output.ok}} && {{build.output.ok}}\"     # `&&` is not an operator

Operators are `and`, `or`, `not`, `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `is defined`, `+`, `-`, `*`,
`/`, `//`, `%`, `~` (joins texts), and `a if condition else b`. Texts stand in quotes.

    condition: \"{{test.output.ok}} and {{build.output.ok}}\"";
    UNKNOWN_NAME = "KB0302", "unknown name",
"An expression reads a name that is neither a parameter nor a step of this definition.

    task: \"Summarise {{reserch.output}}\"        # the step is called `research`

Names are the parameters, the steps, and `params`, `steps`, `run`, `env`, `secrets`, and inside a
`forEach` the item and `index`. Texts stand in quotes: `{{ 'done' }}`. The empty value is `none`.";
    UNKNOWN_FIELD = "KB0303", "unknown field",
"A step, `run` or `loop` has no field of this name.

    condition: \"{{test.result}} == 'failed'\"

A step has `output`, `status`, `error`, `errors`, `verdict`, `verdictDetails`, `exitCode`, `stdout`,
`stderr`, `attempts` and `durationMs`. What it handed out is below `output`:

    condition: \"{{test.output.result}} == 'failed'\"";
    UNKNOWN_FILTER = "KB0304", "unknown filter, test or function",
"An expression calls something that the language does not have.

    task: \"{{ plan.output.files | jion(', ') }}\"

Filters are pure: `default`, `length`, `join`, `map`, `select`, `sort`, `upper`, `tojson`, … Tests
follow `is`: `defined`, `none`, `string`, … The one function is `range`. Methods such as
`text.strip()` do not exist; use a filter, as in `text | trim`.";
    BAD_PLACEHOLDER = "KB0305", "a placeholder that cannot be read",
"A placeholder is not closed, is empty, or stands inside quotes of an expression.

    task: \"Write {{ featureName\"                       # not closed
    condition: \"'{{test.output.state}}' == 'failed'\"    # quotes make it a text

Close it with `}}`. In a condition placeholders are just parentheses, so leave the quotes out. Two
braces that are meant as text are written `\\{{`.";
    MISSPELLED_PLACEHOLDER = "KB0306", "a placeholder that looks misspelt",
"`<< name >>` and, in workflows, `{step.key}` are placeholders only where they name something known.
This one nearly does, and would silently stay text.

    task: \"Add << fetureName >>\"         # the parameter is `featureName`

Correct the name, or write `\\<<` or `\\{` where the text is meant.";
    DASHED_NAME = "KB0307", "a step with `-` in its id, read as a subtraction",
"In an expression `-` subtracts, so that `add-test.output` would be `add` minus `test.output`.

    condition: \"{{add-test.output}}\"

Write the id as a text, or `_` for each `-`:

    condition: \"{{steps['add-test'].output}}\"
    condition: \"{{add_test.output}}\"";
    DYNAMIC_NAME = "KB0308", "a name that is computed",
"Which step, environment name or secret an expression reads must be known when it is loaded: the
order of the steps follows from it.

    task: \"{{ steps[params.which].output }}\"

Name it: `steps['build'].output`. To choose between steps, read both:
`build.output if params.which == 'build' else test.output`.";
    NAME_OUT_OF_SCOPE = "KB0309", "a name that exists only elsewhere",
"`item` and `index` exist only in the keys of a step that has a `forEach`; where `as` gives the item
a name, that name takes the place of `item`.

    - id: review
      forEach: \"{{plan.output.files}}\"
      task: \"Review {{item}}\"

The `condition` of such a step is asked once, before there are items, and cannot read them. Choose in
the list instead:

    forEach: \"{{ plan.output.files | selectattr('changed') | list }}\"";
    PLACEHOLDER_IN_SCRIPT = "KB0310", "a placeholder in a shell script",
"The text of `run:` is one literal script: no value is ever pasted into it, because a value from
outside would become code.

    run: \"echo {{params.name}}\"

Pass the value through the environment:

    env: {NAME: \"{{params.name}}\"}
    run: 'echo \"$NAME\"'";
    EXPRESSION_TOO_LONG = "KB0311", "an expression that is too long",
"One expression may have 4,096 bytes. Compute intermediate values in `set` steps:

    - id: facts
      set: {ready: \"{{ ... }}\"}";
    UNDEFINED_VALUE = "KB0320", "a value that is undefined",
"A template needs a value that is not there: the step was skipped or failed, or its output has no
such key.

    task: \"Fix: {{debug.output.reason}}\"

Give it a fallback, or run the step only where the value is there:

    task: \"Fix: {{debug.output.reason | default('unknown')}}\"
    condition: \"{{debug.output.reason is defined}}\"";
    TYPE_MISMATCH = "KB0321", "two kinds that cannot be compared",
"`<`, `<=`, `>`, `>=` order two numbers, two texts, two booleans or two lists, and `in` looks into
texts, lists and objects. Nothing is converted silently.

    condition: \"{{count.stdout}} > 3\"           # stdout is text

Convert one side: `count.stdout | int > 3`. `==` and `!=` compare anything; different kinds differ.";
    EVALUATION_FAILED = "KB0322", "an evaluation that failed",
"An operation of an expression does not work on the values that it met: a filter that expects a list
got a number, a division by zero, a text that is not JSON.

    task: \"{{ params.name | join(', ') }}\"      # `name` is a text

The message names the operation. Check the values with `kb run output`.";
    EXPRESSION_TOO_LARGE = "KB0323", "an evaluation that is too large",
"An expression or template may produce 4 MiB and take a bounded amount of work.

    task: \"{{ 'x' * 1000000000 }}\"

Write large data to a file in a `run` step, and pass the file's path.";
}

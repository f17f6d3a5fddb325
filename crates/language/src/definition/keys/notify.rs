//! Keys of `notify:` of the settings.

use super::choice_tables::NOTIFY_EVENT_NAMES;
use super::table::KeyType::{Any, Choice, ListOrOne, Map, MapOf, OneOf, Pattern, Text};
use super::table::{KeyRule, KeySpec, KeyTable, key, table};

pub(crate) static NOTIFY: KeyTable = table(
    "notify",
    "a hook of `notify`",
    "Tells a web service, a program or a playbook about runs and triggers while `kb serve` runs.",
    &[NOTIFY_KEYS],
)
.rule(KeyRule::ExactlyOne(&["webhook", "command", "playbook"]));

const NOTIFY_KEYS: &[KeySpec] = &[
    key("name", Pattern("^[a-z][a-z0-9_-]{0,63}$"), "Name of the hook.")
        .default("the kind and the position, such as `webhook-1`")
        .example("on-call"),
    key("on", ListOrOne(&Choice(NOTIFY_EVENT_NAMES)), "Events to notify it of; `ended` is every end of a run.")
        .default("`[failed, waiting, recovered, stopped, missed]`; of a `playbook` `[failed, waiting]`")
        .example("[ended, waiting]"),
    key("playbooks", ListOrOne(&Text), "Ids of the playbooks whose runs and triggers count.")
        .default("all")
        .example("[nightly]"),
    key(
        "webhook",
        OneOf(const { &[Text, Map(&NOTIFY_WEBHOOK)] }),
        "A request to an address, signed as in Standard Webhooks. A text is short for `{url: TEXT}`.",
    )
    .example("{url: \"https://hooks.example.com/kb\", secret: HOOK}"),
    key("command", ListOrOne(&Text), "Program and arguments. Its standard input is the notification as JSON.")
        .example("[./notify.sh, ops]"),
    key(
        "playbook",
        OneOf(const { &[Text, Map(&NOTIFY_PLAYBOOK)] }),
        "A playbook that is run. A text is short for `{id: TEXT}`.",
    )
    .example("{id: report, payload: {source: data.run}}"),
];

pub(crate) static NOTIFY_WEBHOOK: KeyTable = table(
    "notifyWebhook",
    "`webhook` of `notify`",
    "A request to an address.",
    &[NOTIFY_WEBHOOK_KEYS],
);

const NOTIFY_WEBHOOK_KEYS: &[KeySpec] = &[
    key(
        "url",
        Pattern("^(https?://|env:|file:).+"),
        "The address, or a reference to it: `env:NAME` or `file:PATH`.",
    )
    .required()
    .example("env:HOOK_URL"),
    key(
        "secret",
        Text,
        "Name of a secret of the settings, `env:NAME` or `file:PATH`; it signs the request.",
    )
    .default("not signed")
    .example("HOOK"),
];

pub(crate) static NOTIFY_PLAYBOOK: KeyTable = table(
    "notifyPlaybook",
    "`playbook` of `notify`",
    "A playbook that is run.",
    &[NOTIFY_PLAYBOOK_KEYS],
);

const NOTIFY_PLAYBOOK_KEYS: &[KeySpec] = &[
    key("id", Text, "Id of the playbook.").required().example("report"),
    key("params", MapOf(&Any), "Parameters with fixed values.").example("{channel: ops}"),
    key(
        "payload",
        MapOf(&Text),
        "Parameters whose values are parts of the notification, such as `data.run`.",
    )
    .example("{source: data.run}"),
];

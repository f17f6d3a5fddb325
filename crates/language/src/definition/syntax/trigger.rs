//! Decodes `on:`, the triggers of a playbook. Start at [`triggers`].

use super::trigger_schedule as schedule;
use super::trigger_values::{
    CommonKeys, NAME_PATTERN, constants, named, overlap_key, payload, payload_key, require_values,
    when, when_key,
};
use super::{Decoder, Fields, Node, Unread};
use crate::definition::check::pattern;
use crate::definition::keys::KeyType::{ListOrOne, Map, OneOf, Pattern, Text};
use crate::definition::keys::{KeySpec, Named, choice, keys};
use crate::definition::model::trigger::SIGNATURE;
use crate::definition::model::{
    FileTrigger, HeaderSignature, Located, NamedForm, Param, ParamType, PayloadPath, RunEnd,
    RunTrigger, Trigger, TriggerSource, Webhook, WebhookForm, is_topic,
};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{DefinitionId, JsonMap};

keys! {
    /// Triggers of a playbook. A trigger starts runs once a person has enabled it with `kb trigger enable` and while `kb serve` runs.
    struct KindKeys(): TRIGGERS = ("on", "`on`") {
        /// Times at which a run starts.
        _schedule: Unread = "schedule" as ListOrOne(const { &OneOf(const { &[Text, Map(&schedule::SCHEDULE)] }) }),
            example("\"0 6 * * *\"");
        /// HTTP requests that start a run.
        _webhook: Unread = "webhook" as ListOrOne(const { &Map(&WEBHOOK) }), example("{secret: GITHUB_HOOK, form: github}");
        /// New and changed files that start a run.
        _file: Unread = "file" as ListOrOne(const { &OneOf(const { &[Text, Map(&FILE)] }) }), example("\"inbox/*.csv\""), names(Named::File);
        /// Messages of other runs that start a run.
        _message: Unread = "message" as ListOrOne(const { &OneOf(const { &[Text, Map(&MESSAGE)] }) }), example("orders");
        /// Ends of other runs that start a run.
        _run: Unread = "run" as ListOrOne(const { &OneOf(const { &[Text, Map(&RUN)] }) }), example("build"), names(Named::Playbook);
    }

    /// Signed HTTP requests to `/hooks/PATH` of `kb serve`.
    struct WebhookKeys(): WEBHOOK = ("webhook", "`webhook`", also CommonKeys::KEYS, also OF_WEBHOOKS) {
        /// Last part of the address.
        path: Option<String> = "path" as Pattern(NAME_PATTERN) => path, default("the id of the playbook"), example("deploy");
        /// How requests are signed: by Standard Webhooks, in the form of a service, or as a map says.
        form: WebhookForm = "form" as OneOf(const { &[choice::<NamedForm>(), Map(&SIGNATURE)] }) => form,
            default("standard"), example("slack");
        /// Names of secrets of the settings that sign requests; two while one replaces the other.
        secrets: Vec<String> = "secret" as ListOrOne(&Text) => secrets, required, example("GITHUB_HOOK"), names(Named::Secret);
    }

    /// Files. A text is short for `{paths: TEXT}`.
    struct FileKeys(): FILE = ("fileTrigger", "`file`", also CommonKeys::KEYS, also OF_FILES) {
        /// Globs of paths relative to the project root.
        paths: TriggerSource = "paths" as ListOrOne(&Text) => paths, required, example("\"inbox/*.csv\""), names(Named::File);
    }

    /// Messages of a topic. A text is short for `{topic: TEXT}`.
    struct MessageKeys(): MESSAGE = ("message", "`message`", also CommonKeys::KEYS, also OF_MESSAGES) {
        /// The topic.
        source: TriggerSource = "topic" as Pattern("^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$") => topic, required, example("orders");
    }

    /// Ends of runs of another playbook. A text is short for `{playbook: TEXT}`.
    struct RunKeys(): RUN = ("runTrigger", "`run`", also CommonKeys::KEYS, also OF_RUNS) {
        /// Id of the playbook whose runs count.
        playbook: Located<DefinitionId> = "playbook" as Text => playbook, required, example("build"), names(Named::Playbook);
        /// Which ends count.
        statuses: Option<Vec<RunEnd>> = "status", default("succeeded");
    }
}

const OF_WEBHOOKS: &[KeySpec] = &[
    payload_key("{issue: issue.number}"),
    when_key("\"headers['x-github-event'] == 'push'\""),
    overlap_key("queueAll"),
];
const OF_FILES: &[KeySpec] = &[
    payload_key("{file: path}"),
    when_key("\"payload.path != 'inbox/draft.csv'\""),
    overlap_key("queueAll"),
];
const OF_MESSAGES: &[KeySpec] = &[
    payload_key("{order: message.id}"),
    when_key("\"payload.message.total > 100\""),
    overlap_key("queueAll"),
];
const OF_RUNS: &[KeySpec] = &[
    payload_key("{text: outputs.text}"),
    when_key("\"payload.outputs.failed == 0\""),
    overlap_key("queueAll"),
];

/// Decodes `on:`; `id` is the id of the playbook.
pub(crate) fn triggers(
    node: &Node,
    id: Option<&DefinitionId>,
    params: &[Param],
    decoder: &mut Decoder,
) -> Vec<Trigger> {
    let Some(fields) = decoder.fields(node, &TRIGGERS) else { return Vec::new() };
    decoder.unsupported(&fields);
    let mut found: Vec<Trigger> = Vec::new();
    for (spec, _, node) in fields.iter() {
        let items = match node.as_seq() {
            Some(items) => items,
            None => std::slice::from_ref(node),
        };
        for item in items.iter().filter(|item| !item.is_null()) {
            let Some(trigger) = trigger(spec.name, item, id, params, decoder) else { continue };
            match found.iter().find(|other| other.name == trigger.name) {
                Some(first) => {
                    let message = format!("two triggers have the name `{}`", trigger.name);
                    decoder.push(
                        Diagnostic::error(Code::BAD_TRIGGER, trigger.span, message)
                            .label(first.span, "the first one")
                            .help("give each trigger a `name` of its own"),
                    );
                }
                None => found.push(trigger),
            }
        }
    }
    found
}

/// The trigger of a workflow with `trigger: auto`: messages whose topic is its id. Parameters come from
/// the fields of the message with their names.
pub(crate) fn automatic(id: &DefinitionId, params: &[Param], span: Span) -> Trigger {
    let wanted = params.iter().filter(|param| param.kind != ParamType::Secret);
    let path = |param: &Param| {
        let path = PayloadPath::parse(&format!("message.{}", param.name))?;
        Some((param.name.clone(), path))
    };
    let source = TriggerSource::Message { topic: id.to_string() };
    Trigger {
        name: "auto".to_owned(),
        overlap: source.default_overlap(),
        source,
        when: None,
        pause_after: None,
        params: JsonMap::new(),
        payload: wanted.filter_map(path).collect(),
        span,
    }
}

fn trigger(
    kind: &'static str,
    node: &Node,
    id: Option<&DefinitionId>,
    params: &[Param],
    decoder: &mut Decoder,
) -> Option<Trigger> {
    if kind == "webhook" || node.as_map().is_some() {
        let (fields, source) = match kind {
            "schedule" => {
                let fields = decoder.fields(node, &schedule::SCHEDULE)?;
                let source = schedule::of_map(node, &fields, decoder);
                (fields, source)
            }
            "webhook" => {
                let fields = decoder.fields(node, &WEBHOOK)?;
                let source = WebhookKeys::of(&fields, decoder);
                let source = source.and_then(|own| {
                    let path = own.path.or_else(|| id.map(DefinitionId::to_string))?;
                    let (form, secrets) = (own.form, own.secrets);
                    Some(TriggerSource::Webhook(Webhook { path, form, secrets }))
                });
                (fields, source)
            }
            "file" => {
                let fields = decoder.fields(node, &FILE)?;
                let source = FileKeys::of(&fields, decoder).map(|own| own.paths);
                (fields, source)
            }
            "message" => {
                let fields = decoder.fields(node, &MESSAGE)?;
                let source = MessageKeys::of(&fields, decoder).map(|own| own.source);
                (fields, source)
            }
            _ => {
                let fields = decoder.fields(node, &RUN)?;
                let source = RunKeys::of(&fields, decoder);
                let source = source.map(|own| of_run(own.playbook, own.statuses));
                (fields, source)
            }
        };
        return common(kind, source, &fields, node.span, params, decoder);
    }
    let source = match kind {
        "schedule" => schedule::of_text(node, decoder),
        "file" => paths(node, "paths", decoder),
        "message" => topic(node, "topic", decoder),
        _ => playbook(node, "playbook", decoder).map(|playbook| of_run(playbook, None)),
    }?;
    let trigger = Trigger {
        name: kind.to_owned(),
        overlap: source.default_overlap(),
        source,
        when: None,
        pause_after: None,
        params: JsonMap::new(),
        payload: Vec::new(),
        span: node.span,
    };
    require_values(&trigger, params, decoder);
    Some(trigger)
}

fn of_run(playbook: Located<DefinitionId>, statuses: Option<Vec<RunEnd>>) -> TriggerSource {
    let Located { value: playbook, span } = playbook;
    let statuses = statuses.unwrap_or_else(|| vec![RunEnd::Succeeded]);
    TriggerSource::Run(RunTrigger { playbook, statuses, span })
}

fn paths(node: &Node, key: &str, decoder: &mut Decoder) -> Option<TriggerSource> {
    let paths: Vec<String> = decoder.texts(node, key);
    paths.iter().for_each(|path| pattern::project_glob(path, node.span, decoder));
    (!paths.is_empty()).then_some(TriggerSource::File(FileTrigger { paths }))
}

fn topic(node: &Node, key: &str, decoder: &mut Decoder) -> Option<TriggerSource> {
    let topic = decoder.text(node, key)?.to_owned();
    if !is_topic(&topic) {
        let message = format!("`{topic}` cannot be a topic");
        let help = "use letters, digits, `.`, `_`, `-` and `/`, at most 128".to_owned();
        decoder.bad_value(node.span, message, help);
        return None;
    }
    Some(TriggerSource::Message { topic })
}

fn playbook(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Located<DefinitionId>> {
    let text = decoder.text(node, key)?;
    let Ok(value) = DefinitionId::new(text) else {
        let message = format!("`{text}` cannot be the id of a playbook");
        decoder.bad_value(node.span, message, "write the id of a playbook".to_owned());
        return None;
    };
    Some(Located { value, span: node.span })
}

fn secrets(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Vec<String>> {
    let secrets: Vec<String> = decoder.texts(node, key);
    for name in &secrets {
        if !decoder.names.secrets.contains(name) {
            let known: Vec<String> = decoder.names.secrets.iter().cloned().collect();
            let near = decoder.nearest(name, known.iter().map(String::as_str));
            let help = match (near, name.split_once(':')) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, None) => {
                    format!("declare it in the settings: `secrets: {{{name}: env:{name}}}`")
                }
                (None, Some((source, place))) => {
                    let own = if source == "env" { place } else { "HOOK_SECRET" };
                    format!(
                        "name it, `secret: {own}`, and declare it in the settings: `secrets: {{{own}: {name}}}`"
                    )
                }
            };
            let message = format!("the settings declare no secret `{name}`");
            decoder.push(Diagnostic::error(Code::BAD_TRIGGER, node.span, message).help(help));
        }
    }
    if secrets.len() > 2 {
        let message = format!("`secret` names {} secrets", secrets.len());
        let help = "at most two sign requests: the current one and the next one".to_owned();
        decoder.bad_value(node.span, message, help);
    }
    Some(secrets)
}

fn path(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    named(node, key, "the path of a webhook", decoder)
}

fn form(node: &Node, key: &str, decoder: &mut Decoder) -> WebhookForm {
    let form = match node.as_map() {
        None => decoder.choice(node, key).map(WebhookForm::Named),
        Some(_) => HeaderSignature::from_node(node, decoder).map(WebhookForm::Header),
    };
    form.unwrap_or_default()
}

/// The keys that all kinds have.
fn common(
    kind: &str,
    source: Option<TriggerSource>,
    fields: &Fields<'_>,
    span: Span,
    params: &[Param],
    decoder: &mut Decoder,
) -> Option<Trigger> {
    let own = CommonKeys::part(fields, decoder)?;
    let constants = fields.get("params").map(|node| constants(node, params, decoder));
    let payload = fields.get("payload").map(|node| payload(node, source.as_ref(), params, decoder));
    let overlap = fields.choice("overlap", decoder);
    let when = match kind {
        "schedule" => None,
        _ => fields.get("when").and_then(|node| when(node, source.as_ref(), decoder)),
    };
    let source = source?;
    let trigger = Trigger {
        name: own.name.unwrap_or_else(|| kind.to_owned()),
        overlap: overlap.unwrap_or_else(|| source.default_overlap()),
        source,
        when,
        pause_after: own.pause_after,
        params: constants.unwrap_or_default(),
        payload: payload.unwrap_or_default(),
        span,
    };
    if let Some((name, _)) = trigger.payload.iter().find(|(n, _)| trigger.params.contains_key(n)) {
        let message = format!("`{name}` has a fixed value and a part of the payload");
        decoder.push(
            Diagnostic::error(Code::TRIGGER_PARAM, span, message).help("keep one of the two"),
        );
    }
    require_values(&trigger, params, decoder);
    Some(trigger)
}

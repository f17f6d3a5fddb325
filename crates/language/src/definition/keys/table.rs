//! The shape of a table of keys: [`KeyTable`], [`KeySpec`] and [`KeyType`].

/// The keys of one map in a definition file.
#[derive(Debug)]
pub struct KeyTable {
    /// Unique name: the entry in `$defs` of a schema and the heading in the reference.
    pub name: &'static str,
    /// The map as messages name it, such as "a step" or "`retry`".
    pub what: &'static str,
    /// One sentence that describes the map.
    pub about: &'static str,
    /// The keys, in groups that several tables can share.
    pub groups: &'static [&'static [KeySpec]],
    /// The type of values under names that the user chooses; `None`: other keys are errors.
    pub others: Option<KeyType>,
    /// Which keys can occur together.
    pub rule: KeyRule,
}

/// Which keys of a map can occur together.
#[derive(Debug, Clone, Copy)]
pub enum KeyRule {
    /// Any keys: the map belongs to the author.
    Any,
    /// Exactly one of these.
    ExactlyOne(&'static [&'static str]),
    /// Exactly one of these, which `defaults` can provide.
    OneOrInherited(&'static [&'static str]),
    /// At least one of these.
    AtLeastOne(&'static [&'static str]),
}

/// A table without user-chosen names and without a rule.
pub(in crate::definition) const fn table(
    name: &'static str,
    what: &'static str,
    about: &'static str,
    groups: &'static [&'static [KeySpec]],
) -> KeyTable {
    KeyTable { name, what, about, groups, others: None, rule: KeyRule::Any }
}

impl KeyTable {
    pub(in crate::definition) const fn others(self, others: KeyType) -> KeyTable {
        KeyTable { others: Some(others), ..self }
    }

    pub(in crate::definition) const fn rule(self, rule: KeyRule) -> KeyTable {
        KeyTable { rule, ..self }
    }

    /// All keys, in the order of the reference.
    pub fn keys(&self) -> impl Iterator<Item = &'static KeySpec> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// The key with this canonical name.
    pub fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.keys().find(|key| key.name == name)
    }
}

/// How far this version supports a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The key works as described.
    Full,
    /// The key is for other programs: it loads with a note and has no effect.
    Unused,
    /// The key loads with a warning and has no effect; the definition runs.
    Planned,
    /// The key loads with a warning, and a run with it is refused, because the run would not keep to
    /// the limit that the key sets.
    RunRefused,
}

/// What a key of a step decides, and so what a change of it means for a result that the step has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyScope {
    /// How the step is called.
    Name,
    /// When and how often the step is attempted, and whether it is skipped.
    Attempts,
    /// How its result is verified.
    Gate,
    /// What the step does.
    Work,
}

/// What the value of a key names. An editor offers such names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// Nothing: the type says what the value is.
    Nothing,
    /// Files of the project, by path or glob.
    File,
    /// A folder of the project.
    Folder,
    /// A playbook, by id.
    Playbook,
    /// A provider of models.
    Provider,
    /// A secret of the settings.
    Secret,
    /// A specialist, by id.
    Specialist,
    /// A step of the same file.
    Step,
    /// Another step of the same file, which starts before this one.
    EarlierStep,
    /// A time zone, by its IANA name.
    TimeZone,
    /// A tool, by its name such as `fs:write`.
    Tool,
}

/// One key of a definition file: its names, its type and what the reference says about it.
#[derive(Debug, Clone, Copy)]
pub struct KeySpec {
    /// Canonical name in camelCase; the snake_case spelling is accepted too.
    pub name: &'static str,
    /// Type of the value.
    pub ty: KeyType,
    /// Whether the key must be present.
    pub required: bool,
    /// Default value as it would be written, or a short description; empty if there is none.
    pub default: &'static str,
    /// How far this version supports it.
    pub support: Support,
    /// What it decides, if it is a key of a step.
    pub scope: KeyScope,
    /// What its value names.
    pub names: Named,
    /// Kinds of steps that have this key; empty: all.
    pub only: &'static [&'static str],
    /// One sentence that describes the key.
    pub about: &'static str,
    /// Example of a value; empty if the type says enough.
    pub example: &'static str,
}

/// A key with this name, type and description.
pub(in crate::definition) const fn key(
    name: &'static str,
    ty: KeyType,
    about: &'static str,
) -> KeySpec {
    KeySpec {
        name,
        ty,
        required: false,
        default: "",
        support: Support::Full,
        scope: KeyScope::Work,
        names: Named::Nothing,
        only: &[],
        about,
        example: "",
    }
}

/// The number of keys in all lists.
pub(in crate::definition) const fn count(lists: &[&[KeySpec]]) -> usize {
    let (mut total, mut at) = (0, 0);
    while at < lists.len() {
        total += lists[at].len();
        at += 1;
    }
    total
}

/// All lists in one. `N` is their [`count`].
pub(in crate::definition) const fn joined<const N: usize>(lists: &[&[KeySpec]]) -> [KeySpec; N] {
    let mut all = [key("", KeyType::Any, ""); N];
    let (mut list, mut filled) = (0, 0);
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            all[filled] = lists[list][at];
            filled += 1;
            at += 1;
        }
        list += 1;
    }
    all
}

impl KeySpec {
    pub(in crate::definition) const fn required(self) -> KeySpec {
        KeySpec { required: true, ..self }
    }

    pub(in crate::definition) const fn default(self, default: &'static str) -> KeySpec {
        KeySpec { default, ..self }
    }

    pub(in crate::definition) const fn example(self, example: &'static str) -> KeySpec {
        KeySpec { example, ..self }
    }

    pub(in crate::definition) const fn only(self, only: &'static [&'static str]) -> KeySpec {
        KeySpec { only, ..self }
    }

    pub(in crate::definition) const fn names(self, names: Named) -> KeySpec {
        KeySpec { names, ..self }
    }

    pub(in crate::definition) const fn scope(self, scope: KeyScope) -> KeySpec {
        KeySpec { scope, ..self }
    }

    pub(in crate::definition) const fn unused(self) -> KeySpec {
        KeySpec { support: Support::Unused, ..self }
    }

    pub(in crate::definition) const fn planned(self) -> KeySpec {
        KeySpec { support: Support::Planned, ..self }
    }

    pub(in crate::definition) const fn run_refused(self) -> KeySpec {
        KeySpec { support: Support::RunRefused, ..self }
    }

    /// The least and the highest integer that it takes, alone or in a list.
    pub(in crate::definition) fn integers(&self) -> (u32, u32) {
        match self.ty {
            KeyType::Integer(least, most) | KeyType::ListOrOne(&KeyType::Integer(least, most)) => {
                (least, most)
            }
            _ => (0, u32::MAX),
        }
    }

    /// The least and the highest number that it takes.
    pub(in crate::definition) fn numbers(&self) -> (f64, f64) {
        match self.ty {
            KeyType::Number(least, most) => (least, most),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// The snake_case spelling, if it differs from the canonical name.
    pub fn snake_case(&self) -> Option<String> {
        let mut snake = String::new();
        for letter in self.name.chars() {
            if letter.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(letter.to_ascii_lowercase());
        }
        (snake != self.name).then_some(snake)
    }
}

/// The type of the value under a key.
#[derive(Debug, Clone, Copy)]
pub enum KeyType {
    /// Any YAML value.
    Any,
    /// A text without placeholders.
    Text,
    /// A text, or a number or boolean that is taken as text.
    Scalar,
    /// A text with placeholders, or `{text, raw: true}`.
    Template,
    /// As [`KeyType::Template`], or a number or boolean that is taken as text.
    ScalarTemplate,
    /// An expression, with or without `{{ }}`.
    Expression,
    /// `true` or `false`.
    Boolean,
    /// A whole number from the first to the second value.
    Integer(u32, u32),
    /// A number from the first to the second value.
    Number(f64, f64),
    /// A positive duration such as `90s`.
    Duration,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// Exactly this text.
    Constant(&'static str),
    /// A text that matches this regular expression.
    Pattern(&'static str),
    /// A JSON Schema or the short form of one.
    Schema,
    /// A map with these keys.
    Map(&'static KeyTable),
    /// A map from names that the user chooses to values of this type.
    MapOf(&'static KeyType),
    /// A map with any keys and values.
    AnyMap,
    /// A list of values of this type.
    List(&'static KeyType),
    /// A list of steps, in a table that steps contain.
    Steps,
    /// A list of values of this type, or one such value alone.
    ListOrOne(&'static KeyType),
    /// No value: the key is only known so that its message can say where it belongs.
    Forbidden,
    /// A value of one of these types.
    OneOf(&'static [KeyType]),
}

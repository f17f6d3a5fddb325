//! [`Tiers`]: which model each tier uses, and where that choice comes from.

use super::known::{self, KNOWN};
use super::local::{self, LocalServer};
use super::prices::Prices;
use super::target::{Environment, Target, is_local};
use super::{ModelError, ModelRef};
use kb_base::value::{Json, JsonMap, Tier};
use kb_language::definition::{Settings, TierSettings};
use secrecy::ExposeSecret;
use std::collections::BTreeMap;
use std::fmt;

/// Minimum length of an API key, in bytes.
const SHORTEST_KEY: usize = 16;

/// The source of the model of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierOrigin {
    /// `KB_LLM_ENDPOINT` and `KB_LLM_MODEL`.
    EndpointVariables,
    /// `llm.tiers` in the settings.
    Settings,
    /// A key in the environment.
    Key,
    /// A server found on this machine.
    LocalServer,
    /// The option `--model NAME`.
    Named,
    /// The start of the run.
    Journal,
}

impl TierOrigin {
    /// The source as text for messages.
    pub fn as_str(self) -> &'static str {
        match self {
            TierOrigin::EndpointVariables => "KB_LLM_ENDPOINT and KB_LLM_MODEL",
            TierOrigin::Settings => "the settings",
            TierOrigin::Key => "a key in the environment",
            TierOrigin::LocalServer => "a local server",
            TierOrigin::Named => "--model",
            TierOrigin::Journal => "the start of the run",
        }
    }
}

/// The models of the three tiers, as far as any are configured.
///
/// For each tier the first of these sources decides: `KB_LLM_ENDPOINT` with `KB_LLM_MODEL`; the settings;
/// the first API key in the environment; another tier of the settings; a local server, if the caller
/// has looked for one.
#[derive(Debug, Clone)]
pub struct Tiers {
    slots: BTreeMap<Tier, Slot>,
    env: Environment,
    prices: Prices,
    hint: Option<String>,
}

#[derive(Debug, Clone)]
struct Slot {
    origin: TierOrigin,
    target: Result<Target, String>,
}

/// The configuration of one tier, for `kb doctor`.
#[derive(Debug, Clone)]
pub struct TierReport {
    /// The tier that the settings map to the model.
    pub tier: Tier,
    /// The source of its model.
    pub origin: TierOrigin,
    /// Its model, or the reason why it cannot be called.
    pub target: Result<Target, String>,
}

impl fmt::Display for TierReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.origin.as_str();
        match &self.target {
            Ok(Target { model, endpoint, price, .. }) => {
                write!(f, "{}: {model} at {endpoint} (from {origin}", self.tier)?;
                match price {
                    None => f.write_str("; price unknown)"),
                    Some(p) if p.input == 0.0 && p.output == 0.0 => f.write_str("; free)"),
                    Some(p) => {
                        write!(f, "; ${} in, ${} out per million tokens)", p.input, p.output)
                    }
                }
            }
            Err(why) => write!(f, "{}: {why} (from {origin})", self.tier),
        }
    }
}

impl Tiers {
    /// The tiers of the settings and the environment. Does not access the network.
    pub fn from(settings: &Settings, env: &BTreeMap<String, String>) -> Tiers {
        let prices = Prices::new(settings.llm.prices.clone());
        let mut tiers =
            Tiers { slots: BTreeMap::new(), env: relevant(settings, env), prices, hint: None };
        if tiers.fill_from_endpoint() {
            return tiers;
        }
        for (tier, own) in &settings.llm.tiers {
            let target = Target::configured(&complete(own, *tier), &tiers.env, &tiers.prices);
            tiers.slots.insert(*tier, Slot { origin: TierOrigin::Settings, target });
        }
        tiers.fill_from_keys();
        tiers.fill_from_neighbours();
        tiers
    }

    /// Restores the result of [`Tiers::frozen`] from the start of a run, with the current API keys.
    pub fn from_frozen(
        frozen: &Json,
        settings: &Settings,
        env: &BTreeMap<String, String>,
    ) -> Tiers {
        let mut tiers = Tiers::from(settings, env);
        for tier in Tier::ALL {
            let Some(own) = frozen.get(tier.as_str()).filter(|own| own.is_object()) else {
                tiers.slots.remove(&tier);
                continue;
            };
            tiers.env.take(own["apiKeyEnv"].as_str(), env);
            let target = Target::from_frozen(own, &tiers.env, &tiers.prices);
            tiers.slots.insert(tier, Slot { origin: TierOrigin::Journal, target });
        }
        tiers
    }

    /// The API keys of the models, with the names of their variables.
    pub fn keys(&self) -> Vec<(String, String)> {
        let targets = self.slots.values().filter_map(|slot| slot.target.as_ref().ok());
        let key = |target: &Target| {
            let name = target.key_env.clone().unwrap_or_else(|| "key".to_owned());
            Some((name, target.key.as_ref()?.expose_secret().to_owned()))
        };
        // Servers that need no key often get a placeholder such as `local`.
        targets.filter_map(key).filter(|(_, key)| key.len() >= SHORTEST_KEY).collect()
    }

    /// Why a variable of the environment has no effect.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Whether the caller should look for a local server: nothing is configured, not even in part. With one of
    /// `KB_LLM_ENDPOINT` and `KB_LLM_MODEL` alone, a server that happens to be there is not what was meant.
    pub fn wants_local(&self) -> bool {
        self.slots.is_empty() && self.hint.is_none()
    }

    /// These tiers, with a local server for those without a model.
    #[must_use]
    pub fn with_local(mut self, servers: &[LocalServer]) -> Tiers {
        let Some((server, model)) =
            servers.iter().find_map(|server| Some((server, server.chat_model()?)))
        else {
            return self;
        };
        let target = Target::compatible(&server.endpoint, model, None, &self.env, &self.prices);
        for tier in Tier::ALL {
            let origin = TierOrigin::LocalServer;
            self.slots.entry(tier).or_insert(Slot { origin, target: target.clone() });
        }
        self
    }

    /// These tiers, with the context windows of models on this machine that are not known otherwise. Asks each
    /// server once for each model.
    pub async fn with_local_windows(mut self) -> Tiers {
        let mut asked: BTreeMap<(String, String), Option<u32>> = BTreeMap::new();
        for slot in self.slots.values_mut() {
            let Ok(target) = &mut slot.target else { continue };
            if target.limits.window.is_some() || !is_local(&target.endpoint) {
                continue;
            }
            let key = (target.endpoint.clone(), target.model.clone());
            let window = match asked.get(&key) {
                Some(window) => *window,
                None => local::window(&target.endpoint, &target.model).await,
            };
            asked.insert(key, window);
            target.limits.window = window;
        }
        self
    }

    /// These tiers, with one model by name for all of them (`--model NAME`).
    #[must_use]
    pub fn with_model(mut self, name: &str) -> Tiers {
        let slots = Tier::ALL.map(|tier| {
            let target = self.named(tier, name);
            (tier, Slot { origin: TierOrigin::Named, target })
        });
        self.slots = BTreeMap::from(slots);
        self
    }

    /// The model of a tier, or the model with that name, which takes precedence.
    pub fn target(&self, tier: Tier, model: Option<&str>) -> Result<Target, ModelError> {
        let found = match (model, self.slots.get(&tier)) {
            (Some(name), _) => self.named(tier, name),
            (None, Some(slot)) => slot.target.clone(),
            (None, None) => Err(format!("there is no model for the tier `{tier}`")),
        };
        found.map_err(|why| self.no_model(&why))
    }

    /// Resolves a tier, or a model by name.
    pub fn resolve(&self, tier: Tier, model: Option<&str>) -> Result<ModelRef, ModelError> {
        let target = self.target(tier, model)?;
        Ok(ModelRef { name: target.model, tier: Some(tier) })
    }

    /// Provider, model, endpoint, key variable and price by tier, without API keys, for the journal.
    pub fn frozen(&self) -> Json {
        let entry = |(tier, slot): (&Tier, &Slot)| {
            let target = slot.target.as_ref().map(Target::frozen).unwrap_or_default();
            (tier.as_str().to_owned(), target)
        };
        Json::Object(self.slots.iter().map(entry).collect::<JsonMap>())
    }

    /// One report for each configured tier, smallest first.
    pub fn describe(&self) -> Vec<TierReport> {
        let report = |(&tier, slot): (&Tier, &Slot)| TierReport {
            tier,
            origin: slot.origin,
            target: slot.target.clone(),
        };
        self.slots.iter().map(report).collect()
    }

    fn fill_from_endpoint(&mut self) -> bool {
        let value = |name: &str| self.env.get(name);
        let (endpoint, model) = match (value("KB_LLM_ENDPOINT"), value("KB_LLM_MODEL")) {
            (Some(endpoint), Some(model)) => (endpoint, model),
            (Some(_), None) => {
                self.hint = Some("`KB_LLM_ENDPOINT` is set, `KB_LLM_MODEL` is not".into());
                return false;
            }
            (None, Some(_)) => {
                self.hint = Some("`KB_LLM_MODEL` is set, `KB_LLM_ENDPOINT` is not".into());
                return false;
            }
            (None, None) => return false,
        };
        let key = value("KB_LLM_API_KEY").map(|_| "KB_LLM_API_KEY");
        let target = Target::compatible(endpoint, model, key, &self.env, &self.prices);
        let origin = TierOrigin::EndpointVariables;
        let slot = Slot { origin, target };
        self.slots = Tier::ALL.into_iter().map(|tier| (tier, slot.clone())).collect();
        true
    }

    fn fill_from_keys(&mut self) {
        let Some(known) = KNOWN.iter().find(|known| self.has_key(known)) else { return };
        for tier in Tier::ALL {
            if !self.slots.contains_key(&tier) {
                let target = Target::known(known, known.model(tier), &self.env, &self.prices);
                self.slots.insert(tier, Slot { origin: TierOrigin::Key, target });
            }
        }
    }

    /// A tier without a model uses the nearest tier of the settings, the cheaper one first.
    fn fill_from_neighbours(&mut self) {
        let order = |tier| match tier {
            Tier::Small => [Tier::Medium, Tier::Large],
            Tier::Medium => [Tier::Small, Tier::Large],
            Tier::Large => [Tier::Medium, Tier::Small],
        };
        let given = self.slots.clone();
        for tier in Tier::ALL {
            if let Some(slot) = order(tier).into_iter().find_map(|near| given.get(&near)) {
                self.slots.entry(tier).or_insert_with(|| slot.clone());
            }
        }
    }

    /// A model by name: from the tier that has it, from its provider if there is an API key, or from
    /// the server of the tier if it was configured explicitly.
    fn named(&self, tier: Tier, name: &str) -> Result<Target, String> {
        let own = self.slots.get(&tier).into_iter().chain(self.slots.values());
        if let Some(target) =
            own.filter_map(|slot| slot.target.as_ref().ok()).find(|target| target.model == name)
        {
            return Ok(target.clone());
        }
        let maker = known::by_model(name);
        if let Some(maker) = maker.filter(|maker| self.has_key(maker)) {
            return Target::known(maker, name, &self.env, &self.prices);
        }
        let slot = self.slots.get(&tier).filter(|slot| maker.is_none() || slot.origin.is_chosen());
        match (slot, maker) {
            (Some(slot), _) => Ok(slot.target.clone()?.with_model(name, &self.prices)),
            (None, Some(maker)) => Target::known(maker, name, &self.env, &self.prices),
            (None, None) => Err(match name.split_once('/') {
                Some((maker, alone)) if known::by_name(maker).is_some() => format!(
                    "no server is known for the model `{name}` (write `{alone}`, without `{maker}/`)"
                ),
                _ => format!("no server is known for the model `{name}`"),
            }),
        }
    }

    fn has_key(&self, known: &known::KnownProvider) -> bool {
        known.keys.iter().any(|key| self.env.get(key).is_some())
    }

    fn no_model(&self, why: &str) -> ModelError {
        let hint = self.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let help = "set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY`; or start a local \
                    server, or set `KB_LLM_ENDPOINT` and `KB_LLM_MODEL` to an OpenAI-compatible \
                    one; or use a script with `--script FILE`";
        ModelError::NoModel { message: format!("{why}{hint}"), help: help.to_owned() }
    }
}

impl TierOrigin {
    /// Whether the server was configured explicitly, so that it may serve models of any name.
    fn is_chosen(self) -> bool {
        matches!(self, TierOrigin::EndpointVariables | TierOrigin::Settings | TierOrigin::Journal)
    }
}

/// A provider without a model means its default model for the tier.
fn complete(own: &TierSettings, tier: Tier) -> TierSettings {
    let known = own.provider.as_deref().and_then(known::by_name);
    match known.filter(|_| own.model.is_empty()) {
        Some(known) => TierSettings { model: known.model(tier).to_owned(), ..own.clone() },
        None => own.clone(),
    }
}

/// The variables that configure models; all others are dropped.
fn relevant(settings: &Settings, env: &BTreeMap<String, String>) -> Environment {
    let own = ["KB_LLM_ENDPOINT", "KB_LLM_MODEL", "KB_LLM_API_KEY"];
    let known = KNOWN.iter().flat_map(|known| known.keys.iter().copied());
    let named = settings.llm.tiers.values().filter_map(|tier| tier.api_key_env.as_deref());
    let mut relevant = Environment::default();
    relevant.take(own.into_iter().chain(known).chain(named), env);
    relevant
}

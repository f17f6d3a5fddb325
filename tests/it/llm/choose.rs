//! Which model a tier or a name stands for.

use super::fake::{KEY, env};
use kb::definition::{ModelPrice, Settings, TierSettings};
use kb::llm::*;
use kb::value::Tier;
use serde_json::json;
use std::collections::BTreeMap;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

fn settings(tiers: &[(Tier, TierSettings)]) -> Settings {
    let mut settings = Settings::default();
    settings.llm.tiers = tiers.iter().cloned().collect();
    settings
}

fn tier(provider: Option<&str>, model: &str, endpoint: Option<&str>) -> TierSettings {
    TierSettings {
        provider: provider.map(str::to_owned),
        model: model.into(),
        endpoint: endpoint.map(str::to_owned),
        ..TierSettings::default()
    }
}

fn shown(tiers: &Tiers) -> Vec<String> {
    tiers.describe().iter().map(ToString::to_string).collect()
}

#[test]
fn the_endpoint_variables_hold_over_everything() {
    let settings = settings(&[(Tier::Small, tier(None, "claude-x", None))]);
    let env = env(&[
        ("KB_LLM_ENDPOINT", "http://localhost:8080"),
        ("KB_LLM_MODEL", "mine"),
        ("OPENAI_API_KEY", KEY),
    ]);
    let tiers = Tiers::from(&settings, &env);
    let line = "mine at http://localhost:8080/v1/ (from KB_LLM_ENDPOINT and KB_LLM_MODEL; free)";
    let expected = ["small", "medium", "large"].map(|tier| format!("{tier}: {line}"));
    assert_eq!(shown(&tiers), expected);
}

#[test]
fn endpoints_are_taken_as_people_write_them() {
    let check = |written: &str, expected: Result<&str, &str>| {
        let env = env(&[("KB_LLM_ENDPOINT", written), ("KB_LLM_MODEL", "m")]);
        let found = Tiers::from(&Settings::default(), &env).target(Tier::Small, None);
        match expected {
            Ok(endpoint) => assert_eq!(found.unwrap().endpoint, endpoint),
            Err(start) => {
                let text = found.unwrap_err().to_string();
                assert!(text.starts_with(start), "{text}");
            }
        }
    };
    check("http://h:1", Ok("http://h:1/v1/"));
    check("http://h:1/v1", Ok("http://h:1/v1/"));
    check("http://h:1/v1/", Ok("http://h:1/v1/"));
    check("https://h/a/v2/chat/completions", Ok("https://h/a/v2/"));
    check("h:1/v1", Err("the endpoint `h:1/v1` is not a URL"));
    check("ftp://h/v1", Err("the endpoint `ftp://h/v1` is not a URL"));
    check("http://me:pw@h/v1", Err("an endpoint must not contain a password"));
}

#[test]
fn keys_in_the_environment_give_tiers() {
    let check = |name: &str, expected: [&str; 3]| {
        let tiers = Tiers::from(&Settings::default(), &env(&[(name, KEY)]));
        let models = Tier::ALL.map(|tier| tiers.resolve(tier, None).unwrap().name);
        assert_eq!(models, expected, "{name}");
    };
    check("ANTHROPIC_API_KEY", ["claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5"]);
    check("OPENAI_API_KEY", ["gpt-6-luna", "gpt-6.1-sol", "gpt-6-astra"]);
    check(
        "GOOGLE_API_KEY",
        ["gemini-3.5-flash-lite", "gemini-3.8-flash", "gemini-3.1-pro-preview"],
    );
    let both = env(&[("OPENAI_API_KEY", KEY), ("ANTHROPIC_API_KEY", " ")]);
    let tiers = Tiers::from(&Settings::default(), &both);
    assert_eq!(tiers.target(Tier::Small, None).unwrap().provider, "openai");
}

#[test]
fn settings_fill_what_they_say_and_lend_it_to_the_other_tiers() {
    let own = settings(&[
        (Tier::Small, tier(Some("Ollama"), "llama3", None)),
        (Tier::Large, tier(Some("openai-compatible"), "big", Some("https://gw.example/v1"))),
    ]);
    insta::assert_snapshot!(shown(&Tiers::from(&own, &env(&[]))).join("\n"), @r"
    small: llama3 at http://127.0.0.1:11434/v1/ (from the settings; free)
    medium: llama3 at http://127.0.0.1:11434/v1/ (from the settings; free)
    large: big at https://gw.example/v1/ (from the settings; price unknown)
    ");
    let usual = settings(&[(Tier::Large, tier(Some("anthropic"), "", None))]);
    let usual = Tiers::from(&usual, &env(&[("ANTHROPIC_API_KEY", KEY)]));
    assert_eq!(usual.resolve(Tier::Large, None).unwrap().name, "claude-opus-5-5");
    let keyed = Tiers::from(&own, &env(&[("ANTHROPIC_API_KEY", KEY)]));
    assert_eq!(keyed.resolve(Tier::Medium, None).unwrap().name, "claude-sonnet-5-5");
}

#[test]
fn a_tier_that_cannot_be_asked_says_why_and_what_gives_a_model() {
    let check = |tier: TierSettings, expected: &str| {
        let tiers = Tiers::from(&settings(&[(Tier::Medium, tier)]), &env(&[]));
        let error = tiers.resolve(Tier::Medium, None).unwrap_err();
        let ModelError::NoModel { message: why, help: mend } = error else { panic!("{error}") };
        assert_eq!(why, expected);
        for way in ["`ANTHROPIC_API_KEY`", "`KB_LLM_ENDPOINT`", "`--script FILE`"] {
            assert!(mend.contains(way), "{mend}");
        }
    };
    let named = TierSettings { api_key_env: Some("MY_KEY".into()), ..tier(None, "gpt-4o", None) };
    check(named, "`MY_KEY`, which must contain the API key of `gpt-4o`, is not set");
    check(tier(None, "claude-x", None), "`claude-x` needs an API key in `ANTHROPIC_API_KEY`");
    check(
        tier(None, "mine", None),
        "no provider is known for `mine`; set `provider` or `endpoint`",
    );
    check(
        tier(Some("acme"), "x", None),
        "the provider `acme` of `x` is unknown; set its `endpoint`, or use one of `anthropic`, \
         `openai`, `gemini`, `mistral`, `deepseek`, `xai`, `groq`, `openrouter`, `ollama`, \
         `llama.cpp`, `lmstudio`",
    );

    let half = Tiers::from(&Settings::default(), &env(&[("KB_LLM_ENDPOINT", "http://h/v1")]));
    assert!(!half.wants_local() && half.describe().is_empty());
    let text = half.resolve(Tier::Small, None).unwrap_err().to_string();
    let start =
        "there is no model for the tier `small` (`KB_LLM_ENDPOINT` is set, `KB_LLM_MODEL` is not)";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn a_price_of_the_settings_holds_for_a_gateway_on_this_machine() {
    let own = ModelPrice { input: 3.0, output: 15.0, cached_input: None, cache_write: None };
    let mut gateway =
        settings(&[(Tier::Medium, tier(None, "claude-x", Some("http://127.0.0.1:4000/v1")))]);
    gateway.llm.prices.insert("claude-x".to_owned(), own);
    let tiers = Tiers::from(&gateway, &env(&[]));
    assert_eq!(tiers.target(Tier::Medium, None).unwrap().price, Some(own));
    assert_eq!(tiers.target(Tier::Small, Some("claude-x")).unwrap().price, Some(own));
    let other = tiers.target(Tier::Medium, Some("llama3")).unwrap().price.unwrap();
    assert_eq!((other.input, other.output), (0.0, 0.0));
}

#[test]
fn a_model_by_name_is_asked_where_it_is_made_or_at_the_chosen_server() {
    let gateway = settings(&[(Tier::Medium, tier(None, "mine", Some("https://gw.example/v1")))]);
    let local = env(&[("KB_LLM_ENDPOINT", "http://localhost:1/v1"), ("KB_LLM_MODEL", "m")]);
    let keyed = env(&[("OPENAI_API_KEY", KEY), ("ANTHROPIC_API_KEY", KEY)]);
    let none = Settings::default();
    let check =
        |settings: &Settings, env: &BTreeMap<String, String>, model: &str, expected: &str| {
            let found = Tiers::from(settings, env).target(Tier::Medium, Some(model));
            let text = match found {
                Ok(target) => target.endpoint,
                Err(error) => error.to_string(),
            };
            assert_eq!(text, expected, "{model}");
        };
    check(&none, &keyed, "gpt-4o", "https://api.openai.com/v1/");
    check(&none, &keyed, "claude-x", "https://api.anthropic.com/v1/");
    check(&none, &keyed, "o3-mini", "https://api.openai.com/v1/");
    check(
        &none,
        &keyed,
        "gemini-x",
        "`gemini-x` needs an API key in `GEMINI_API_KEY` or `GOOGLE_API_KEY`",
    );
    check(&none, &keyed, "house", "https://api.anthropic.com/v1/");
    check(&gateway, &env(&[]), "claude-x", "https://gw.example/v1/");
    check(&gateway, &keyed, "claude-x", "https://api.anthropic.com/v1/");
    check(&gateway, &keyed, "mine", "https://gw.example/v1/");
    check(&none, &local, "gpt-oss:20b", "http://localhost:1/v1/");
    check(&none, &env(&[]), "house", "no server is known for the model `house`");
    check(
        &none,
        &env(&[]),
        "openai/gpt-x",
        "no server is known for the model `openai/gpt-x` (write `gpt-x`, without `openai/`)",
    );

    let all = Tiers::from(&none, &keyed).with_model("gpt-4o");
    let models = Tier::ALL.map(|tier| all.resolve(tier, None).unwrap().name);
    assert_eq!(models, ["gpt-4o"; 3]);
}

#[test]
fn what_is_frozen_has_no_key_and_gives_the_same_tiers_back() {
    let price = Some(ModelPrice { input: 1.0, output: 2.0, cached_input: None, cache_write: None });
    let own = TierSettings {
        api_key_env: Some("MY_KEY".into()),
        price,
        ..tier(Some("anthropic"), "claude-x", None)
    };
    let env = env(&[("MY_KEY", KEY)]);
    let frozen = Tiers::from(&settings(&[(Tier::Large, own)]), &env).frozen();
    assert_eq!(
        frozen["large"],
        json!({
            "provider": "anthropic",
            "model": "claude-x",
            "endpoint": "https://api.anthropic.com/v1/",
            "apiKeyEnv": "MY_KEY",
            "price": {"input": 1.0, "output": 2.0, "cachedInput": null, "cacheWrite": null},
            "contextWindow": 200_000,
            "maxOutputTokens": 64_000,
            "stream": true,
        })
    );
    assert!(!frozen.to_string().contains(KEY));
    // The settings have changed since; the run has not.
    let changed = settings(&[(Tier::Large, tier(None, "other", Some("http://h/v1")))]);
    let restored = Tiers::from_frozen(&frozen, &changed, &env);
    assert_eq!(restored.frozen(), frozen);
    assert!(restored.resolve(Tier::Large, None).is_ok());
    assert!(!format!("{restored:?}").contains(KEY), "a key shows in {restored:?}");
}

#[test]
fn a_key_goes_to_no_other_host_than_its_provider() {
    let own = settings(&[(
        Tier::Small,
        tier(Some("openai"), "gpt-4o", Some("https://proxy.example/v1")),
    )]);
    let target = Tiers::from(&own, &env(&[("OPENAI_API_KEY", KEY)])).target(Tier::Small, None);
    assert_eq!(target.unwrap().key_env, None);
}

#[tokio::test]
async fn a_local_server_is_found_and_an_absent_one_is_not() {
    let server = MockServer::start().await;
    let list = json!({"data": [{"id": "nomic-embed-text"}, {"id": "llama3"}]});
    let list = ResponseTemplate::new(200).set_body_json(list);
    Mock::given(path("/v1/models")).respond_with(list).mount(&server).await;
    let endpoint = format!("{}/v1/", server.uri());
    let found = servers_at(&[("here", &endpoint), ("absent", "http://127.0.0.1:1/v1/")]).await;
    let names: Vec<_> = found.iter().map(|s| (s.name.as_str(), s.models.len())).collect();
    assert_eq!(names, [("here", 2)]);
    let tiers = Tiers::from(&Settings::default(), &env(&[])).with_local(&found);
    assert_eq!(tiers.resolve(Tier::Large, None).unwrap().name, "llama3");
    assert_eq!(tiers.describe()[0].origin, TierOrigin::LocalServer);
}

#[tokio::test]
async fn the_context_window_of_a_local_server_is_found() {
    let props = json!({"default_generation_settings": {"n_ctx": 40_960}, "total_slots": 1});
    let listed =
        json!({"id": "tiny", "max_context_length": 131_072, "loaded_context_length": 8_192});
    for (at, body, window) in [("/props", props, 40_960), ("/api/v0/models/tiny", listed, 8_192)] {
        let server = MockServer::start().await;
        let body = ResponseTemplate::new(200).set_body_json(body);
        Mock::given(path(at)).respond_with(body).mount(&server).await;
        let own = settings(&[(Tier::Small, tier(Some("mine"), "tiny", Some(&server.uri())))]);
        let tiers = Tiers::from(&own, &env(&[])).with_local_windows().await;
        for tier in Tier::ALL {
            assert_eq!(tiers.target(tier, None).unwrap().limits.window, Some(window), "{at}");
        }
        // Each server is asked once, and the answer is part of the frozen choice.
        assert_eq!(server.received_requests().await.unwrap().len(), 2);
        let frozen = Tiers::from_frozen(&tiers.frozen(), &own, &env(&[]));
        assert_eq!(frozen.target(Tier::Large, None).unwrap().limits.window, Some(window));
    }
    let own = settings(&[(Tier::Small, tier(Some("ollama"), "llama3", None))]);
    let known = |own: &Settings| Tiers::from(own, &env(&[])).target(Tier::Small, None).unwrap();
    assert_eq!(known(&own).limits.window, Some(16_384));
    let chosen =
        TierSettings { context_window: Some(65_536), ..tier(Some("ollama"), "llama3", None) };
    assert_eq!(known(&settings(&[(Tier::Small, chosen)])).limits.window, Some(65_536));
}

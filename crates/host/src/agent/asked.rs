//! What an agent asks its client for.

use super::report::CallReport;
use kb_base::value::Json;
use serde_json::json;

/// A request of an agent, which is answered later.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The id of the request.
    pub(crate) id: Json,
    pub(crate) what: Wanted,
}

/// What an agent wants.
#[derive(Debug)]
pub(crate) enum Wanted {
    Permission(Permission),
    Read(FileRead),
    Write(FileWrite),
}

/// The question whether it may make a call of one of its own tools.
#[derive(Debug)]
pub(crate) struct Permission {
    pub(crate) call: CallReport,
    allow: Option<String>,
    reject: Option<String>,
}

/// A text file to read.
#[derive(Debug)]
pub(crate) struct FileRead {
    pub(crate) path: String,
    /// The first line, from 1.
    pub(crate) line: Option<u64>,
    /// The number of lines.
    pub(crate) limit: Option<u64>,
}

/// A text file to write.
#[derive(Debug)]
pub(crate) struct FileWrite {
    pub(crate) path: String,
    pub(crate) content: String,
}

impl Wanted {
    /// Reads a request. `None`: it is not offered. The error says what is wrong with its parameters.
    pub(crate) fn of(method: &str, params: &Json) -> Option<Result<Wanted, String>> {
        let text = |key: &str| {
            let found = params.get(key).and_then(Json::as_str).map(str::to_owned);
            found.ok_or_else(|| format!("`{key}` is missing"))
        };
        let number = |key: &str| params.get(key).and_then(Json::as_u64);
        Some(match method {
            "session/request_permission" => Ok(Wanted::Permission(Permission::of(params))),
            "fs/read_text_file" => text("path").map(|path| {
                Wanted::Read(FileRead { path, line: number("line"), limit: number("limit") })
            }),
            "fs/write_text_file" => text("path")
                .and_then(|path| Ok(Wanted::Write(FileWrite { path, content: text("content")? }))),
            _ => return None,
        })
    }
}

impl Permission {
    fn of(params: &Json) -> Permission {
        let options = params.get("options").and_then(Json::as_array);
        let option = |kind: &str| {
            let mut options = options.into_iter().flatten();
            let found =
                options.find(|option| option.get("kind").and_then(Json::as_str) == Some(kind));
            found?.get("optionId").and_then(Json::as_str).map(str::to_owned)
        };
        Permission {
            call: CallReport::of(params.get("toolCall").unwrap_or(&Json::Null)),
            // For ever would be without the policy.
            allow: option("allow_once"),
            reject: option("reject_once").or_else(|| option("reject_always")),
        }
    }

    /// A recorded question, which could be answered for one call alone.
    pub(crate) fn for_once(call: CallReport) -> Permission {
        Permission { call, allow: Some(String::new()), reject: None }
    }

    /// The answer where the turn ends before a decision.
    pub(crate) fn cancelled() -> Json {
        json!({"outcome": {"outcome": "cancelled"}})
    }

    /// Whether it can be allowed for this call alone.
    pub(crate) fn can_be_allowed(&self) -> bool {
        self.allow.is_some()
    }

    /// The answer: this call alone, or no.
    pub(crate) fn answer(&self, allow: bool) -> Json {
        match if allow { &self.allow } else { &self.reject } {
            Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
            None => Permission::cancelled(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_is_never_given_for_ever() {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
        let ask = |options: Json| {
            let params =
                json!({"toolCall": {"toolCallId": "c", "kind": "edit"}, "options": options});
            Permission::of(&params)
        };
        let selected = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
        let cancelled = json!({"outcome": {"outcome": "cancelled"}});
        let all = ask(json!([
            option("ever", "allow_always"),
            option("once", "allow_once"),
            option("never", "reject_always"),
            option("no", "reject_once"),
        ]));
        assert_eq!((all.answer(true), all.answer(false)), (selected("once"), selected("no")));
        let ever = ask(json!([option("ever", "allow_always"), option("never", "reject_always")]));
        assert!(!ever.can_be_allowed());
        assert_eq!((ever.answer(true), ever.answer(false)), (cancelled.clone(), selected("never")));
        assert_eq!(ask(json!("?")).answer(false), cancelled);
    }
}

//! `kb cache show`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::{Table, plain};
use crate::cli::render::{bytes, time};
use crate::cli::terminal::{DIM, TITLE, Terminal, WARNING, paint};
use kb_base::value::{counted, json_text};
use kb_service::service::{self, CacheSheet, Environment, LookupView, PartState};

/// Number of characters of the output that are shown.
const SHOWN: usize = 200;

/// Show why a step was or was not taken from the cache, or a stored result
///
/// For a step: what its last execution asked for, and which parts of the key differ from the result
/// that it stored last. For a key: the result with its origin and files.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A step (`STEP`, `STEP[ITEM]` or `PLAYBOOK/STEP`), or the start of a key
    #[arg(value_name = "STEP|KEY")]
    name: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let sheet = service::show_cached(environment, &args.name)?;
    if args.json {
        terminal.json(&sheet)?
    } else {
        terminal.out(&text(&sheet))?
    }
    Ok(Exit::Done)
}

fn text(sheet: &CacheSheet) -> String {
    let mut out = String::new();
    if let Some(lookup) = &sheet.lookup {
        out.push_str(&looked_up(lookup));
    }
    if let Some(result) = &sheet.result {
        let origin = &result.origin;
        let label = |text| paint(DIM, text);
        out.push_str(&format!(
            "{}  {} of run {}, {}\n{}     {}\n{}   {}\n",
            label("result"),
            plain(&format!("{}/{}", origin.definition, origin.instance)),
            origin.run,
            origin.at.rfc3339(),
            label("key"),
            result.key,
            label("saves"),
            time(result.duration_ms),
        ));
        let output = plain(&json_text(&result.output));
        let output = match output.char_indices().nth(SHOWN) {
            Some((at, _)) => format!("{}…", &output[..at]),
            None => output,
        };
        out.push_str(&format!("{}  {output}\n", label("output")));
        for file in &result.files {
            let what = match &file.content {
                Some(content) => bytes(content.bytes),
                None => "removed".to_owned(),
            };
            out.push_str(&format!("{}    {}, {what}\n", label("file"), plain(&file.path)));
        }
    }
    out.push_str(&parts(sheet));
    out
}

fn looked_up(lookup: &LookupView) -> String {
    let step = plain(&format!("{}/{}", lookup.definition, lookup.instance));
    let found = match &lookup.missed {
        None => "taken from the cache".to_owned(),
        Some(why) => format!("{}: {}", paint(WARNING, "executed"), plain(why)),
    };
    format!("{}  run {}, {}\n{found}\n\n", paint(TITLE, &step), lookup.run, lookup.at)
}

/// The parts of the key: all that differ, and the number of the others.
fn parts(sheet: &CacheSheet) -> String {
    let is_missed = sheet.lookup.as_ref().is_some_and(|lookup| lookup.missed.is_some());
    let mut table = Table::new(["PART", "STATE", "VALUE", "BEFORE"]).shorten("VALUE");
    let mut hidden = 0;
    for part in &sheet.parts {
        if is_missed && part.state == PartState::Same {
            hidden += 1;
            continue;
        }
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let (value, before) = (text(&part.value), text(&part.before));
        table.row([part.name.as_str(), part.state.as_str(), &value, &before]);
    }
    let mut out = format!("\n{}", table.text());
    if sheet.result.is_none() {
        return String::new();
    }
    if hidden > 0 {
        out.push_str(&format!("{} the same\n", counted(hidden, "part")));
    }
    out
}

//! The list of the tools of a server, checked and limited.

use crate::era::Era;
use crate::fault::Fault;
use crate::server::Server;
use kb_base::value::Json;
use kb_language::definition::ToolDeclaration;
use serde_json::json;
use std::collections::BTreeSet;

/// Lists the tools. A declaration that cannot be used makes the whole list unusable.
pub(crate) async fn list(
    (server, era): (&Server, Era),
    most: usize,
) -> Result<Vec<ToolDeclaration>, Fault> {
    let mut tools: Vec<ToolDeclaration> = Vec::new();
    let (mut names, mut cursors) = (BTreeSet::new(), BTreeSet::new());
    let mut params = json!({});
    loop {
        let page = server.ask(era, "tools/list", params).await?;
        let Some(listed) = page.get("tools").and_then(Json::as_array) else {
            return Err(Fault::Broken("its list of tools has no `tools`".to_owned()));
        };
        for tool in listed {
            let declared = ToolDeclaration::of(tool).map_err(|why| {
                let name = tool.get("name").and_then(Json::as_str).unwrap_or_default();
                Fault::Broken(format!("the tool `{}`: {why}", name.escape_debug()))
            })?;
            if !names.insert(declared.name().to_owned()) {
                let message = format!("two tools have the name `{}`", declared.name());
                return Err(Fault::Broken(message));
            }
            tools.push(declared);
            if tools.len() > most {
                return Err(Fault::Broken(format!("it has more than {most} tools (`maxTools`)")));
            }
        }
        let Some(cursor) = page.get("nextCursor").and_then(Json::as_str) else { return Ok(tools) };
        // Each page but the last has at least one tool, or the list need not end.
        if listed.is_empty() || !cursors.insert(cursor.to_owned()) {
            return Err(Fault::Broken("its list of tools does not end".to_owned()));
        }
        params = json!({"cursor": cursor});
    }
}

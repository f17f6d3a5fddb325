//! The protocol: initialisation, lists, calls and resources over standard input and output.

use crate::answer::Answer;
use crate::arguments::refused;
use crate::bounded_lines::BoundedLines;
use crate::resources::{self, TEMPLATES};
use crate::session::Session;
use crate::tools::{McpTool, TOOLS};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json};
use kb_service::service::{Environment, ServiceError};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt};
use rmcp::transport::io::stdio_pipes;
use rmcp::{ErrorData, ServerHandler};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The longest message of a client, in bytes.
const MAX_MESSAGE: usize = 4 * 1024 * 1024;

pub(crate) const INSTRUCTIONS: &str = "Playbooks are checked work: kb runs their steps, and a step counts as done only if \
    what was claimed, recorded and found on disk agrees. playbook_list, then playbook_show for the parameters, \
    then playbook_run; it answers with a run id at once. run_show with waitMs waits. A verdict that is not passed \
    says which check was not met. Only a person approves or answers a run that waits.";

/// Serves the project of the working directory to the client on standard input and output, until its input ends. Must be
/// called in a tokio runtime with several threads. Fails if the client sends what is no message.
pub async fn serve(environment: Environment) -> Result<(), ServiceError> {
    let (input, output) = stdio_pipes();
    let handler = Handler { session: Session::new(environment) };
    let input = BoundedLines::new(input, MAX_MESSAGE);
    let exceeded = input.exceeded();
    let failed = |error: &dyn std::fmt::Display| {
        let failure =
            Failure::new(Code::MCP_MESSAGE, format!("the client sent no message: {error}"));
        let help = "start `kb mcp serve` from an MCP client; it reads the protocol on stdin";
        ServiceError::refused(failure.help(help))
    };
    let running = handler.serve((input, output)).await.map_err(|error| failed(&error))?;
    running.waiting().await.map_err(|error| failed(&error))?;
    if exceeded.load(Ordering::Relaxed) {
        Err(failed(&format!("a line is longer than {MAX_MESSAGE} bytes")))
    } else {
        Ok(())
    }
}

struct Handler {
    session: Session,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let offers = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let mut info = ServerConfig::new(offers);
        info.server_info = Implementation::new("kb", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(tools())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(call_tool(&self.session, request, true).await?.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(resources_listed())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<rmcp::model::ReadResourceResponse, ErrorData> {
        Ok(read_resource(&self.session, request)?.into())
    }
}

/// The list of tools.
pub(crate) fn tools() -> ListToolsResult {
    ListToolsResult::with_all_items(TOOLS.iter().map(described).collect())
}

/// Carries out a call. A client that may not run may call only tools that read.
pub(crate) async fn call_tool(
    session: &Session,
    request: CallToolRequestParams,
    may_run: bool,
) -> Result<CallToolResult, ErrorData> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
        let known: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        let message =
            format!("there is no tool `{}`; there are {}", request.name, known.join(", "));
        return Err(ErrorData::invalid_params(message, None));
    };
    if !may_run && !tool.only_reads {
        let message = format!("`{}` needs a token with the role `run`", tool.name);
        let error = refused(message, "create one: `kb serve token create --role run`");
        return Ok(answered(Err(error)));
    }
    let args = Json::Object(request.arguments.unwrap_or_default());
    Ok(answered((tool.call)(session, args).await))
}

/// The resources that have an address of their own.
pub(crate) fn resources_listed() -> ListResourcesResult {
    let list = Resource::new(crate::playbooks::LIST_URI, "playbooks")
        .with_description("The playbooks and workflows of the project.")
        .with_mime_type(JSON_TYPE);
    ListResourcesResult::with_all_items(vec![list])
}

/// The forms of the addresses of resources.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let template = |(uri, name, description): &(&str, &str, &str)| {
        ResourceTemplate::new(*uri, *name).with_description(*description).with_mime_type(JSON_TYPE)
    };
    ListResourceTemplatesResult::with_all_items(TEMPLATES.iter().map(template).collect())
}

/// The whole text of a resource, as its address names it.
pub(crate) fn read_resource(
    session: &Session,
    request: ReadResourceRequestParams,
) -> Result<ReadResourceResult, ErrorData> {
    let text = resources::read(session, &request.uri)
        .map_err(|error| ErrorData::resource_not_found(told(&error), None))?;
    let contents = ResourceContents::text(text, request.uri).with_mime_type(JSON_TYPE);
    Ok(ReadResourceResult::new(vec![contents]))
}

const JSON_TYPE: &str = "application/json";

fn described(tool: &McpTool) -> Tool {
    let mut schema = Json::from((tool.input)());
    let arguments = schema.get_mut("properties").and_then(Json::as_object_mut);
    arguments.into_iter().flatten().for_each(|(_, argument)| leave_null_out(argument));
    let input = schema.as_object().cloned().unwrap_or_default();
    let hints = ToolAnnotations::new().read_only(tool.only_reads).open_world(!tool.only_reads);
    Tool::new(tool.name, tool.description, Arc::new(input)).with_annotations(hints)
}

/// An argument that may be left out has one type in the schema, by which clients read what a person typed.
fn leave_null_out(argument: &mut Json) {
    let kinds = argument.get("type").and_then(Json::as_array);
    let kind = kinds.and_then(|kinds| kinds.iter().find(|kind| **kind != "null")).cloned();
    if let Some(kind) = kind {
        argument["type"] = kind;
    }
}

fn answered(result: Result<Answer, ServiceError>) -> CallToolResult {
    match result {
        Ok(answer) => {
            let mut content = vec![ContentBlock::text(answer.text)];
            content.extend(answer.link.map(|uri| {
                let whole = Resource::new(uri, "the whole").with_mime_type(JSON_TYPE);
                ContentBlock::resource_link(whole)
            }));
            CallToolResult::success(content)
        }
        Err(error) => CallToolResult::error(vec![ContentBlock::text(told(&error))]),
    }
}

/// The longest text of an error, in characters.
const MAX_ERROR: usize = 2000;

/// The text of an error with its code, its problems and the fix. It may quote what the client sent.
fn told(error: &ServiceError) -> String {
    let mut text = error.to_string();
    if let Some(code) = error.code() {
        text.push_str(&format!(" [{code}]"));
    }
    if let ServiceError::Definitions { diagnostics, sources } = error {
        for found in diagnostics.iter().take(20) {
            let problem = kb_core::wire::Problem::of(found, sources);
            text.push_str(&format!("\n{}", serde_json::to_value(&problem).unwrap_or_default()));
        }
    }
    let help = error.help().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    [text, help].map(|part| shown(&part)).concat()
}

/// A text without control characters, cut to the longest that is sent.
fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c };
    let mut short: String = text.chars().take(MAX_ERROR).map(plain).collect();
    if text.chars().nth(MAX_ERROR).is_some() {
        short.push('…');
    }
    short
}

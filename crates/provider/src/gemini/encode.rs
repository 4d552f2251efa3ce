//! Encodes a prompt as the body of `streamGenerateContent`.
//!
//! `contents` is the last field, so that a longer conversation starts with the bytes of the
//! shorter one and hits the cache. Does not read streams.

use std::borrow::Cow;

use chat::{
    Problem,
    prompt::{
        Attachment, Content as FileContent, Part as PromptPart, Prompt, PromptMessage, PromptRole,
    },
    tool::ToolDefinition,
};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::parts::model_parts;
use super::thinking::{ThinkingConfig, amount, thinking};
use crate::{
    Endpoint, HttpRequest, Parameters, Protocol, arguments, attachment,
    endpoint::{stream_headers, to_json},
    thinking::Carried,
};

const SPOKEN: Protocol = Protocol::Gemini;
/// The provider that takes an access token instead of a key.
const VERTEX: &str = "vertex";
/// Version in the path of the API with a key.
const VERSION: &str = "v1beta";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<GenerationConfig>,
    contents: Vec<Content<'a>>,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<Part<'a>>,
}

/// A part with exactly one of the first four fields.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct FunctionCall<'a> {
    id: &'a str,
    name: &'a str,
    args: Arguments<'a>,
}

/// Arguments as written in the document, or the empty object.
#[derive(Serialize)]
#[serde(untagged)]
enum Arguments<'a> {
    AsWritten(&'a RawValue),
    Empty {},
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    id: &'a str,
    name: &'a str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Response<'a> {
    Output(&'a str),
    Error(&'a str),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    /// The complete JSON Schema; `parameters` supports only a part of it.
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    function_calling_config: FunctionCallingConfig,
}

#[derive(Serialize)]
struct FunctionCallingConfig {
    mode: &'static str,
}

#[derive(Serialize, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

/// Returns what a request says about temperature and thinking.
pub(crate) fn carried(parameters: &Parameters) -> Carried<'_> {
    Carried {
        temperature: parameters.finite_temperature().is_some(),
        thinking: amount(parameters),
    }
}

/// Encodes `prompt` for Gemini.
///
/// # Errors
///
/// As [`crate::encode`].
pub(crate) fn encode(
    prompt: &Prompt,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<HttpRequest, Problem> {
    let url = url(endpoint, parameters.named_model(endpoint)?)?;
    let mut headers = stream_headers();
    // Vertex AI takes an access token, the Gemini API a key.
    let (name, prefix) = if endpoint.provider == VERTEX {
        ("authorization", "Bearer ")
    } else {
        ("x-goog-api-key", "")
    };
    let key = endpoint.key_header(prefix)?;
    headers.extend(key.map(|key| (name.to_owned(), key)));
    let body = to_json(&body(prompt, &endpoint.provider, parameters))?;
    Ok(HttpRequest::new(url, headers, body))
}

/// Returns the URL of a model's stream. On Vertex AI, the base URL already contains
/// project, location, and publisher.
fn url(endpoint: &Endpoint, model: &str) -> Result<String, Problem> {
    let base = endpoint.base()?;
    let version = if endpoint.provider == VERTEX || base.ends_with(VERSION) {
        String::new()
    } else {
        format!("/{VERSION}")
    };
    let model = model.trim();
    // Google lists its models with this prefix.
    let model = in_path(model.strip_prefix("models/").unwrap_or(model));
    Ok(format!(
        "{base}{version}/models/{model}:streamGenerateContent?alt=sse"
    ))
}

/// Percent-encodes a name for a path.
fn in_path(name: &str) -> String {
    // A `/`, `?`, or `#` in a name would change the address of the request.
    let spell = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'@' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    name.bytes().map(spell).collect()
}

fn body<'a>(prompt: &'a Prompt, signer: &str, parameters: &Parameters) -> Body<'a> {
    let system = prompt.system.as_deref();
    let system = system.filter(|text| !text.trim().is_empty());
    let config = GenerationConfig {
        max_output_tokens: parameters.max_tokens,
        temperature: parameters.finite_temperature(),
        thinking_config: thinking(parameters),
    };
    let contents = prompt
        .messages
        .iter()
        .map(|message| content(message, signer, parameters));
    let offers_tools = !prompt.tools.is_empty();
    Body {
        system_instruction: system.map(|text| Content {
            role: None,
            parts: vec![Part::text(Cow::Borrowed(text))],
        }),
        tools: tools(&prompt.tools),
        tool_config: offers_tools.then_some(ToolConfig {
            function_calling_config: FunctionCallingConfig { mode: "AUTO" },
        }),
        generation_config: (config != GenerationConfig::default()).then_some(config),
        // Only another provider's thinking leaves a message empty.
        contents: contents.filter(|it| !it.parts.is_empty()).collect(),
    }
}

fn tools(definitions: &[ToolDefinition]) -> Vec<Tools<'_>> {
    let declarations = definitions.iter().map(|tool| FunctionDeclaration {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: &tool.input_schema,
    });
    let function_declarations: Vec<_> = declarations.collect();
    if function_declarations.is_empty() {
        Vec::new()
    } else {
        vec![Tools {
            function_declarations,
        }]
    }
}

fn content<'a>(message: &'a PromptMessage, signer: &str, parameters: &Parameters) -> Content<'a> {
    let (role, parts) = match message.role {
        // A system message here was joined to the first one, see `later`.
        PromptRole::User | PromptRole::System => {
            let parts = message.parts.iter().filter_map(user_part);
            ("user", parts.collect())
        }
        PromptRole::Assistant => ("model", model_parts(message, signer, &parameters.about)),
    };
    Content {
        role: Some(role),
        parts,
    }
}

fn user_part(part: &PromptPart) -> Option<Part<'_>> {
    match part {
        PromptPart::Text(text) if text.trim().is_empty() => None,
        PromptPart::Text(text) => Some(Part::text(Cow::Borrowed(text))),
        PromptPart::File(file) => Some(file_part(file)),
        PromptPart::ToolResult {
            tool_use_id,
            name,
            content,
            is_error,
        } => Some(Part {
            function_response: Some(FunctionResponse {
                id: tool_use_id.as_str(),
                name,
                response: if *is_error {
                    Response::Error(content)
                } else {
                    Response::Output(content)
                },
            }),
            ..Part::default()
        }),
        // Parts of an answer, which no user message has, and of a system message.
        PromptPart::Thinking { .. } | PromptPart::ToolUse { .. } | PromptPart::ToolsAdded(_) => {
            None
        }
    }
}

fn file_part(file: &Attachment) -> Part<'_> {
    let blob = match &file.content {
        FileContent::Image { mime, base64 } => Some((mime.as_str(), base64.as_str())),
        FileContent::Pdf { base64 } => Some(("application/pdf", base64.as_str())),
        FileContent::Text(_) => None,
    };
    match blob.filter(|_| attachment::is_taken(file, SPOKEN)) {
        Some((mime_type, data)) => Part {
            inline_data: Some(Blob { mime_type, data }),
            ..Part::default()
        },
        None => Part::text(Cow::Owned(file.as_text())),
    }
}

impl<'a> Part<'a> {
    pub(super) fn text(text: Cow<'a, str>) -> Self {
        Self {
            text: Some(text),
            ..Self::default()
        }
    }

    pub(super) fn call(id: &'a str, name: &'a str, input: &'a str) -> Self {
        // The API requires an object here.
        let args = arguments::whole_object(input).map_or(Arguments::Empty {}, Arguments::AsWritten);
        Self {
            function_call: Some(FunctionCall { id, name, args }),
            ..Self::default()
        }
    }
}

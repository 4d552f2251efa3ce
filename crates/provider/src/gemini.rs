//! Gemini's `streamGenerateContent`, with a key or on Vertex AI.
//!
//! A thought signature belongs to one part of an answer. In the document it precedes that
//! part, in the tag of a thinking block. A signature that precedes no part is sent as a
//! separate part without text. An empty signature means that the part after it has none.
//!
//! Encodes a prompt as the body of `streamGenerateContent`; `decode` reads streams. `contents`
//! is the last field, so that a longer conversation starts with the bytes of the shorter one and
//! hits the cache. How much to think is a token budget or a level, depending on the model.

mod decode;
mod web;

use std::borrow::Cow;

use chat::Problem;
use chat::prompt::{
    Attachment, Content as FileContent, Part as PromptPart, Prompt, PromptMessage, PromptRole,
};
use chat::server_tools::{ExactAnswer, ExactBlock};
use chat::tool::ToolDefinition;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::catalogue::{Model, ThinkingKind};
use crate::endpoint::{stream_headers, to_json};
use crate::thinking::{Amount, Carried, leaving_room};
use crate::{Endpoint, HttpRequest, Parameters, Protocol, Thinking, WebTools, attachment, content};

pub(crate) use decode::StreamReader;

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
    parts: Vec<AnyPart<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnyPart<'a> {
    Own(Part<'a>),
    /// A part as it came.
    Exact(&'a RawValue),
}

/// A part with exactly one of the first four fields.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
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
struct FunctionCall<'a> {
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
    /// Files that the response names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
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
enum Tools<'a> {
    FunctionDeclarations(Vec<FunctionDeclaration<'a>>),
    /// Searches by Google.
    GoogleSearch(NoFields),
    /// Pages that Google reads.
    UrlContext(NoFields),
}

#[derive(Serialize)]
struct NoFields {}

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
    #[serde(skip_serializing_if = "Option::is_none")]
    function_calling_config: Option<FunctionCallingConfig>,
    /// Shows the uses of Google's tools, and allows them next to functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    include_server_side_tool_invocations: Option<bool>,
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
    let web = crate::web::offered(SPOKEN, signer, parameters);
    let contents = prompt
        .messages
        .iter()
        .map(|message| content(message, signer, parameters, web.is_some()));
    let calls_functions = !prompt.tools.is_empty();
    let function_calling_config = calls_functions.then_some(FunctionCallingConfig { mode: "AUTO" });
    Body {
        system_instruction: system.map(|text| Content {
            role: None,
            parts: vec![AnyPart::Own(Part::text(Cow::Borrowed(text)))],
        }),
        tools: tools(&prompt.tools, web),
        tool_config: (calls_functions || web.is_some()).then_some(ToolConfig {
            function_calling_config,
            include_server_side_tool_invocations: web.map(|_| true),
        }),
        generation_config: (config != GenerationConfig::default()).then_some(config),
        // Only another provider's thinking leaves a message empty.
        contents: contents.filter(|it| !it.parts.is_empty()).collect(),
    }
}

fn tools<'a>(definitions: &'a [ToolDefinition], web: Option<&WebTools>) -> Vec<Tools<'a>> {
    let declarations = definitions.iter().map(|tool| FunctionDeclaration {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: &tool.input_schema,
    });
    let function_declarations: Vec<_> = declarations.collect();
    let offers = |which: fn(&WebTools) -> bool| web.is_some_and(which);
    let all = [
        (
            !function_declarations.is_empty(),
            Tools::FunctionDeclarations(function_declarations),
        ),
        (offers(|it| it.search), Tools::GoogleSearch(NoFields {})),
        (offers(|it| it.fetch), Tools::UrlContext(NoFields {})),
    ];
    let offered = all.into_iter().filter(|it| it.0);
    offered.map(|it| it.1).collect()
}

fn content<'a>(
    message: &'a PromptMessage,
    signer: &str,
    parameters: &Parameters,
    web: bool,
) -> Content<'a> {
    // Without the tools, the API would not know their calls.
    if let Some(exact) = web.then(|| message.exact_of(signer)).flatten() {
        return Content {
            role: Some("model"),
            parts: exact_parts(message, exact),
        };
    }
    let (role, parts): (_, Vec<Part<'a>>) = match message.role {
        // A system message here was joined to the first one, see `later`.
        PromptRole::User | PromptRole::System => {
            let parts = message.parts.iter().filter_map(user_part);
            ("user", parts.collect())
        }
        PromptRole::Assistant => ("model", model_parts(message, signer, &parameters.about)),
    };
    Content {
        role: Some(role),
        parts: parts.into_iter().map(AnyPart::Own).collect(),
    }
}

/// Returns an answer as it came, with its calls as they are in the document.
fn exact_parts<'a>(message: &'a PromptMessage, exact: &'a ExactAnswer) -> Vec<AnyPart<'a>> {
    let (mut calls, mut signature) = (message.calls(), None);
    let parts = exact.blocks.iter().filter_map(|block| match block {
        ExactBlock::Json(json) => serde_json::from_str(json).ok().map(AnyPart::Exact),
        ExactBlock::Thinking(value) => {
            signature = Some(value.as_str());
            None
        }
        ExactBlock::Call => {
            let (id, name, input) = calls.next()?;
            let mut part = Part::call(id.as_str(), name, input);
            part.thought_signature = signature.take();
            Some(AnyPart::Own(part))
        }
    });
    parts.collect()
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
            files,
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
                parts: files.iter().map(file_part).collect(),
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
    fn text(text: Cow<'a, str>) -> Self {
        Self {
            text: Some(text),
            ..Self::default()
        }
    }

    fn call(id: &'a str, name: &'a str, input: &'a str) -> Self {
        // The API requires an object here.
        let args = content::whole_object(input).map_or(Arguments::Empty {}, Arguments::AsWritten);
        Self {
            function_call: Some(FunctionCall { id, name, args }),
            ..Self::default()
        }
    }
}

/// Placeholder for a missing signature, because another provider or the user wrote the
/// call. Models that check signatures require one on the first call of an answer; this
/// value is documented for imported conversations.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Returns the parts of an answer. `signer` is the provider whose signatures are sent back.
fn model_parts<'a>(message: &'a PromptMessage, signer: &str, about: &Model) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    // Signature of the next part.
    let mut next: Option<&str> = None;
    let take = |next: &mut Option<&'a str>| next.take().filter(|it| !it.is_empty());
    for said in &message.parts {
        if let Some(signature) = signature_of(said, signer) {
            // Two signatures in a row: the first one belongs to no part.
            parts.extend(take(&mut next).map(signature_alone));
            next = Some(signature);
            continue;
        }
        let mut part = match said {
            PromptPart::Text(text) if !text.trim().is_empty() => Part::text(Cow::Borrowed(text)),
            PromptPart::ToolUse { id, name, input } => Part::call(id.as_str(), name, input),
            PromptPart::Text(_) | PromptPart::Thinking { .. } => continue,
            // Answers contain none of these.
            PromptPart::File(_) | PromptPart::ToolsAdded(_) | PromptPart::ToolResult { .. } => {
                continue;
            }
        };
        part.thought_signature = take(&mut next);
        parts.push(part);
    }
    match take(&mut next) {
        Some(last) if ends_as_older_files(message) => sign_first_call(&mut parts, last),
        last => parts.extend(last.map(signature_alone)),
    }
    // Models with levels check signatures.
    if about.thinking == Some(ThinkingKind::Levels) {
        sign_first_call(&mut parts, NO_SIGNATURE);
    }
    parts
}

fn signature_alone(signature: &str) -> Part<'_> {
    let mut part = Part::text(Cow::Borrowed(""));
    part.thought_signature = Some(signature);
    part
}

/// Returns true if thinking follows the calls, as other programs write it. Its signature
/// then belongs to the first call.
fn ends_as_older_files(message: &PromptMessage) -> bool {
    matches!(message.parts.last(), Some(PromptPart::Thinking { text, .. }) if !text.is_empty())
}

/// Returns the signature of a thinking part, if `signer` made it.
fn signature_of<'a>(part: &'a PromptPart, signer: &str) -> Option<&'a str> {
    match part {
        PromptPart::Thinking {
            signature: Some(signature),
            redacted: false,
            ..
        } if signature.provider == signer => Some(&signature.value),
        _ => None,
    }
}

/// Signs the first call unless it has a signature.
fn sign_first_call<'a>(parts: &mut [Part<'a>], signature: &'a str) {
    let first = parts.iter_mut().find(|part| part.function_call.is_some());
    if let Some(call) = first {
        call.thought_signature.get_or_insert(signature);
    }
}

/// `generationConfig.thinkingConfig`
#[derive(Serialize, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    include_thoughts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<String>,
}

/// Returns how much thinking a request asks for.
fn amount(parameters: &Parameters) -> Amount<'_> {
    match thinking(parameters) {
        None => Amount::Unsaid,
        Some(config) if config.thinking_level.is_some() => {
            level(parameters).map_or(Amount::Unsaid, Amount::Level)
        }
        Some(config) if config.thinking_budget == Some(0) => Amount::Off,
        Some(_) => Amount::Budget,
    }
}

/// Returns the level that the model has for the wanted amount, or its lowest: a model with
/// levels can't turn thinking off.
fn level(parameters: &Parameters) -> Option<&str> {
    let about = &parameters.about;
    match parameters.thinking?.level() {
        Some(level) => about.level(level),
        None => about.lowest_level(),
    }
}

/// Returns the configuration; `None` leaves it to the provider.
fn thinking(parameters: &Parameters) -> Option<ThinkingConfig> {
    let wanted = parameters.thinking?;
    let about = &parameters.about;
    let is_on = wanted.level().is_some();
    let include_thoughts = is_on.then_some(true);
    match about.thinking {
        Some(ThinkingKind::None) => None,
        Some(ThinkingKind::Levels) => Some(ThinkingConfig {
            include_thoughts,
            // The API's enum is upper case, the catalogue lower case.
            thinking_level: Some(level(parameters)?.to_ascii_uppercase()),
            ..ThinkingConfig::default()
        }),
        Some(ThinkingKind::Budget) | None => Some(ThinkingConfig {
            include_thoughts,
            thinking_budget: Some(budget(wanted, parameters)),
            ..ThinkingConfig::default()
        }),
    }
}

/// Returns the token budget, which leaves room for the answer.
fn budget(wanted: Thinking, parameters: &Parameters) -> u32 {
    let about = &parameters.about;
    match wanted {
        // This model can't turn thinking off, so use its smallest budget.
        Thinking::Off if about.thinking_off == Some(false) => about.clamp_budget(0),
        Thinking::Off => 0,
        on => {
            let budget = about.clamp_budget(on.budget());
            // The rest of the limit may be less than the model's smallest budget.
            let room = |limit| about.clamp_budget(leaving_room(budget, limit));
            parameters.max_tokens.map_or(budget, room)
        }
    }
}

//! Which tools the providers accept: data.
//!
//! Rules that hold for all of them need no row, because following them loses nothing: names of
//! at most 64 letters, digits, `_`, and `-`; a schema of draft 2020-12 for an object, with
//! `properties` and without alternatives at the top; arrays with `items`. Sources, as of
//! 2026-11-26, are the errors that the services return:
//!
//! - Anthropic: `tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`
//!   (64 until 2025, and still on other platforms), `input_schema does not support oneOf, allOf,
//!   or anyOf at the top level`, `JSON schema is invalid. It must match JSON Schema draft
//!   2020-12`, and `Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`
//!   (github.com/anthropics/claude-code/issues/27337, 63673, 79418, 96152)
//! - OpenAI: `schema must have type 'object' and not have
//!   'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level`, `object schema missing
//!   properties`, `array schema missing items`; names: `^[a-zA-Z0-9_-]{1,64}$`
//!   (platform.openai.com/docs/api-reference; github.com/langchain-ai/langchainjs/issues/9804,
//!   spring-projects/spring-ai/issues/4776, langgenius/dify/issues/32894)
//! - Gemini: names "must start with a letter or an underscore", property names "must start with
//!   a letter or an underscore and must only contain chars a-z, A-Z, 0-9, or underscores with a
//!   maximum length of 64" (reference of `FunctionDeclaration`); the keywords of
//!   `parametersJsonSchema` have no `const` and no `allOf`, beside `$ref` only names that start
//!   with `$` are allowed, and "cyclic references … may only be used within non-required
//!   properties" (reference of `responseJsonSchema`)
//! - Moonshot: `function name is invalid, must start with a letter`, `when using anyOf, type
//!   should be defined in anyOf items instead of the parent schema`, `references must start
//!   with #/$defs/`, and none beside other keywords
//!   (github.com/MoonshotAI/kimi-cli/issues/1773, 2531)

use crate::Protocol;

/// Property names that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// Letters, digits, `_`, `.`, and `-`.
    Dotted,
    /// Letters, digits, and `_`, not a digit first.
    Identifiers,
}

/// Rules of one protocol.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Whether a name must begin with a letter.
    pub letter_first: bool,
    /// The property names that are accepted.
    pub keys: Keys,
    /// Whether the schema must be as plain as possible: references only in cycles, no `const`,
    /// types inside alternatives.
    pub plain: bool,
}

/// Returns the rules of a protocol. Behind Chat Completions may be a server of any kind, so
/// the rules of Moonshot apply, which are the strictest.
pub(super) fn rules(protocol: Protocol) -> Rules {
    let (letter_first, keys, plain) = match protocol {
        Protocol::AnthropicMessages | Protocol::Responses => (false, Keys::Dotted, false),
        Protocol::ChatCompletions => (true, Keys::Dotted, true),
        Protocol::Gemini => (true, Keys::Identifiers, true),
    };
    Rules {
        letter_first,
        keys,
        plain,
    }
}

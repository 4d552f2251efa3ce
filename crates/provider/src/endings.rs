//! The words with which servers end an answer: finish reasons, stop reasons, and statuses.
//!
//! One table for all protocols, because gateways pass on the words of the server behind
//! them. A word that is not here never lets a call run.

use serde_json_borrow::Value;

/// What a known word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The answer is complete.
    Complete,
    /// It reached its token limit.
    TokenLimit,
    /// Prompt and answer fill the model's context.
    ContextFull,
    /// The model or the provider declined to continue.
    Refused,
}

/// A word, its meaning, and who uses it (collected in November 2026).
const WORDS: &[(&str, Meaning, &str)] = &[
    (
        "stop",
        Meaning::Complete,
        "OpenAI, Mistral, DeepSeek, Ollama",
    ),
    ("tool_calls", Meaning::Complete, "OpenAI"),
    ("tool_call", Meaning::Complete, "Hugging Face router"),
    ("function_call", Meaning::Complete, "OpenAI, before tools"),
    ("eos", Meaning::Complete, "Together"),
    ("eos_token", Meaning::Complete, "Text Generation Inference"),
    (
        "stop_sequence",
        Meaning::Complete,
        "Anthropic, Text Generation Inference",
    ),
    ("end_turn", Meaning::Complete, "Anthropic"),
    ("tool_use", Meaning::Complete, "Anthropic"),
    ("complete", Meaning::Complete, "Cohere"),
    ("completed", Meaning::Complete, "OpenAI's Responses"),
    ("COMPLETE", Meaning::Complete, "Cohere"),
    ("TOOL_CALL", Meaning::Complete, "Cohere"),
    ("STOP_SEQUENCE", Meaning::Complete, "Cohere"),
    ("STOP", Meaning::Complete, "Google"),
    (
        "FUNCTION_CALL",
        Meaning::Complete,
        "servers compatible with Google",
    ),
    ("length", Meaning::TokenLimit, "OpenAI"),
    ("max_tokens", Meaning::TokenLimit, "Anthropic"),
    (
        "max_output_tokens",
        Meaning::TokenLimit,
        "OpenAI's Responses",
    ),
    ("max_completion_tokens", Meaning::TokenLimit, "OpenAI"),
    ("MAX_TOKENS", Meaning::TokenLimit, "Google, Cohere"),
    ("model_length", Meaning::ContextFull, "Mistral"),
    (
        "model_context_window_exceeded",
        Meaning::ContextFull,
        "Anthropic",
    ),
    ("ERROR_LIMIT", Meaning::ContextFull, "Cohere"),
    ("content_filter", Meaning::Refused, "OpenAI"),
    ("refusal", Meaning::Refused, "Anthropic"),
    ("sensitive", Meaning::Refused, "Z.ai"),
    ("SAFETY", Meaning::Refused, "Google"),
    ("ERROR_TOXIC", Meaning::Refused, "Cohere"),
];

/// Returns the meaning of a word; `None` if it is not known.
pub(crate) fn meaning(word: &str) -> Option<Meaning> {
    let row = WORDS.iter().find(|row| row.0 == word)?;
    Some(row.1)
}

/// Returns the word in a field, such as a stop reason; `None` if it is absent.
///
/// A value of another type is returned as JSON, so that it isn't taken for an absent one.
pub(crate) fn word(field: &Value<'_>) -> Option<String> {
    let word = match field {
        Value::Null => return None,
        Value::Str(word) => word.trim().to_owned(),
        other => other.to_string(),
    };
    (!word.is_empty()).then_some(word)
}

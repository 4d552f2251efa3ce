//! Instructions and tools that are added during a conversation.
//!
//! Where a model takes them at their place, nothing before them changes, so caches hit and
//! signed thinking stays valid. All other models get the instructions with the system prompt
//! and the tools behind the first ones.

use std::borrow::Cow;

use chat::prompt::{Part, Prompt, PromptRole};

use crate::{Endpoint, Parameters, Protocol};

/// Changes that a model accepts in the middle of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Takes {
    instructions: bool,
    tools: bool,
}

impl Takes {
    /// Returns true for a part of a system message that the model does not take there.
    fn moves(self, part: &Part) -> bool {
        match part {
            Part::ToolsAdded(_) => !self.tools,
            Part::Text(_) | Part::File(_) => !self.instructions,
            // Instructions contain none of these.
            Part::Thinking { .. } | Part::ToolUse { .. } | Part::ToolResult { .. } => {
                !self.instructions
            }
        }
    }
}

fn takes(endpoint: &Endpoint, parameters: &Parameters) -> Takes {
    let without = parameters.without;
    let is_known = parameters.about.system_messages == Some(true) && !without.system_messages;
    match endpoint.protocol {
        // Source: platform.claude.com, "Mid-conversation system messages and tool changes",
        // November 2026; the catalogue has the models.
        Protocol::AnthropicMessages => Takes {
            instructions: is_known,
            tools: is_known && !without.tool_changes && !parameters.text_tools,
        },
        // Source: "Model spec" and the field `role` in OpenAI's API reference, November 2026.
        Protocol::Responses => Takes {
            instructions: true,
            tools: false,
        },
        // Many servers and chat templates accept only a first system message.
        Protocol::ChatCompletions | Protocol::Gemini => Takes {
            instructions: false,
            tools: false,
        },
    }
}

/// Returns true if tools that are added later change nothing before them in a request.
pub fn takes_later_tools(endpoint: &Endpoint, parameters: &Parameters) -> bool {
    takes(endpoint, parameters).tools
}

/// Returns the prompt without system messages that the model does not take.
pub(crate) fn placed<'a>(
    prompt: Cow<'a, Prompt>,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Cow<'a, Prompt> {
    let takes = takes(endpoint, parameters);
    let later = prompt
        .messages
        .iter()
        .filter(|it| it.role == PromptRole::System);
    // Most prompts have none and need not be copied.
    if !later.flat_map(|it| &it.parts).any(|part| takes.moves(part)) {
        return prompt;
    }
    let mut prompt = prompt.into_owned();
    let mut system: Vec<String> = prompt.system.take().into_iter().collect();
    let later = prompt
        .messages
        .iter_mut()
        .filter(|it| it.role == PromptRole::System);
    for message in later {
        for part in message.parts.extract_if(.., |part| takes.moves(part)) {
            match part {
                Part::ToolsAdded(tools) => prompt.tools.extend(tools),
                Part::Text(text) => system.push(text),
                Part::File(file) => system.push(file.as_text()),
                // Parts of an answer and its results, which no system message has.
                Part::Thinking { .. } | Part::ToolUse { .. } | Part::ToolResult { .. } => {}
            }
        }
    }
    prompt.messages.retain(|message| !message.is_empty());
    prompt.system = (!system.is_empty()).then(|| system.join("\n\n"));
    Cow::Owned(prompt)
}

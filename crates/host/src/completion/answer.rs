//! The answer to one request of a tool's conversation, as the next request repeats it.

use std::collections::HashSet;

use chat::prompt::{Part, Prompt, Signature};
use chat::tool::ToolUseId;
use provider::{StopReason, StreamEvent, ToolUse, Usage};

use super::told;

/// What came of one request.
#[derive(Default)]
pub(super) struct Answer {
    /// All of it.
    pub(super) parts: Vec<Part>,
    /// Its words.
    pub(super) text: String,
    /// Its calls.
    pub(super) calls: Vec<ToolUse>,
    /// What it took.
    pub(super) usage: Usage,
}

impl Answer {
    /// Takes an event in; how the answer ended, when that is what it says.
    pub(super) fn take(
        &mut self,
        event: StreamEvent,
        provider: &str,
    ) -> Option<Result<(), String>> {
        match event {
            StreamEvent::Text(text) => {
                self.text.push_str(&text);
                match self.parts.last_mut() {
                    Some(Part::Text(last)) => last.push_str(&text),
                    _ => self.parts.push(Part::Text(text)),
                }
            }
            StreamEvent::Thinking(text) => match self.parts.last_mut() {
                Some(Part::Thinking {
                    text: last,
                    signature: None,
                    redacted: false,
                }) => last.push_str(&text),
                _ => self.parts.push(thinking(text, None, false)),
            },
            StreamEvent::ThinkingEnd { signature } => self.end_thinking(signature, provider),
            StreamEvent::RedactedThinking(opaque) => self.parts.push(thinking(opaque, None, true)),
            StreamEvent::ToolUse(call) => {
                self.parts.push(Part::ToolUse {
                    id: ToolUseId::new(&call.id),
                    name: call.name.clone(),
                    input: call.input.clone(),
                });
                self.calls.push(call);
            }
            StreamEvent::ToolUseStart { .. } => {}
            StreamEvent::Usage(usage) => self.usage.replace(usage),
            StreamEvent::Stop(StopReason::Refusal) => {
                return Some(Err("The model declined to answer.".to_owned()));
            }
            StreamEvent::Stop(StopReason::MaxTokens | StopReason::ContextFull)
                if self.text.trim().is_empty() =>
            {
                return Some(Err(
                    "The answer reached the token limit before it said anything.".to_owned(),
                ));
            }
            StreamEvent::Stop(_) => return Some(Ok(())),
            StreamEvent::Error(problem) => return Some(Err(told(problem))),
        }
        None
    }

    fn end_thinking(&mut self, value: Option<String>, provider: &str) {
        let signed = value.map(|value| Signature {
            provider: provider.to_owned(),
            value,
        });
        match self.parts.last_mut() {
            Some(Part::Thinking {
                signature,
                redacted: false,
                ..
            }) => *signature = signed,
            _ if signed.is_some() => self.parts.push(thinking(String::new(), signed, false)),
            _ => {}
        }
    }
}

fn thinking(text: String, signature: Option<Signature>, redacted: bool) -> Part {
    Part::Thinking {
        text,
        signature,
        redacted,
    }
}

/// Gives calls ids that no earlier answer used: some servers number those of each anew.
pub(super) fn make_distinct(answer: &mut Answer, prompt: &Prompt) {
    let parts = prompt.messages.iter().flat_map(|it| &it.parts);
    let mut used: HashSet<String> = parts
        .filter_map(|part| match part {
            Part::ToolUse { id, .. } => Some(id.as_str().to_owned()),
            _ => None,
        })
        .collect();
    let mut calls = answer.calls.iter_mut();
    for part in &mut answer.parts {
        let Part::ToolUse { id, .. } = part else {
            continue;
        };
        let Some(call) = calls.next() else { return };
        while !used.insert(call.id.clone()) {
            call.id.push('_');
        }
        *id = ToolUseId::new(&call.id);
    }
}

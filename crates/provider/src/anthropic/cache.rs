//! The marks up to which the provider caches a prompt.

use serde::Serialize;

use super::encode::{Block, Message};
use crate::CacheRetention;

/// A mark up to which the provider caches the prompt.
#[derive(Serialize, Clone, Copy)]
pub(super) struct CacheControl {
    r#type: &'static str,
    /// Five minutes if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl CacheControl {
    pub(super) fn new(retention: CacheRetention) -> Option<Self> {
        let ttl = match retention {
            CacheRetention::None => return None,
            CacheRetention::Short => None,
            CacheRetention::Long => Some("1h"),
        };
        Some(Self {
            r#type: "ephemeral",
            ttl,
        })
    }
}

/// Marks the last two user messages. The provider searches for cached prefixes only some
/// blocks back, and a turn of many calls is longer than that. With the marks of tools and
/// system, these are the four marks that the API accepts.
pub(super) fn mark_user_messages(messages: &mut [Message<'_>], mark: CacheControl) {
    let user = messages.iter_mut().rev().filter(|it| it.role == "user");
    for message in user.take(2) {
        let marks = message
            .content
            .iter_mut()
            .rev()
            .find_map(|block| match block {
                Block::Text { cache_control, .. }
                | Block::Image { cache_control, .. }
                | Block::Document { cache_control, .. }
                | Block::ToolResult { cache_control, .. } => Some(cache_control),
                Block::Thinking { .. }
                | Block::RedactedThinking { .. }
                | Block::ToolUse { .. }
                | Block::ToolAddition { .. } => None,
            });
        if let Some(cache_control) = marks {
            *cache_control = Some(mark);
        }
    }
}

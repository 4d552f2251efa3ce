//! `:Flemma switch` in one chat: its own provider, model, and parameters until Neovim
//! ends. The frontmatter wins over them, because it is part of the file.

use std::sync::Arc;

use chat::Problem;
use chat::cycle::{Level, Notice};
use serde_json::Value;

use super::Policy;
use super::evaluate_frontmatter::with_rules_now;
use crate::audit::today;
use crate::session::ctx::Ctx;
use crate::shared::Shared;
use crate::switch::{self, SwitchScope};

impl Policy {
    /// Returns new settings for all chats, with this chat's own provider and model if
    /// `:Flemma switch` chose them.
    pub(crate) fn with_own_target(&self, ctx: &Ctx, shared: Arc<Shared>) -> Arc<Shared> {
        // Only a chat that was itself switched keeps its target when the options change.
        let own = &ctx.shared.settings;
        if !self.is_switched && !own.plan {
            return shared;
        }
        let mut settings = if self.is_switched {
            shared.settings.keep_target(own)
        } else {
            shared.settings.clone()
        };
        settings.plan = own.plan;
        Arc::new(shared.with_settings(settings))
    }
}

/// Returns the settings of this chat after `:Flemma switch`, and a message.
///
/// # Errors
///
/// The arguments name nothing to switch to.
pub(in crate::session) fn switched(
    ctx: &Ctx,
    arguments: &Value,
) -> Result<(Arc<Shared>, String), Problem> {
    let settings = switch::switch(&ctx.shared.settings, arguments)?;
    let message = switch::message(&settings, SwitchScope::ThisChat, &today());
    Ok((Arc::new(ctx.shared.with_settings(settings)), message))
}

/// Shows where this chat is sent from now on; `message` says what was switched.
pub(in crate::session) fn report_switch(ctx: &Ctx, message: String) {
    let editor = ctx.editor.clone();
    with_rules_now(ctx, move |rules| {
        let (level, text) = match rules.line_of_model() {
            None => (Level::Info, message),
            Some(line) => {
                let text = format!(
                    "Line {line} of the frontmatter chooses this chat's model, which wins over :Flemma switch. Change \
                     that line instead."
                );
                (Level::Warning, text)
            }
        };
        editor.notify(&Notice { level, text });
    });
}

/// Returns the settings of this chat after `:Flemma plan`, which puts it into plan mode or ends
/// that, and a message.
pub(in crate::session) fn plan_toggled(ctx: &Ctx) -> (Arc<Shared>, &'static str) {
    let mut settings = ctx.shared.settings.clone();
    settings.plan = !settings.plan;
    let text = match (settings.plan, settings.is_planning()) {
        (true, _) => {
            "Plan mode: until :Flemma plan, this chat only reads, searches, and tries commands."
        }
        (false, false) => "Plan mode is off.",
        (false, true) => {
            "Your options keep this chat in plan mode: tools.auto_approve contains \"$plan\"."
        }
    };
    (Arc::new(ctx.shared.with_settings(settings)), text)
}

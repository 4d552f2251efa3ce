//! `:Flemma switch` in one chat: its own provider, model, and parameters until Neovim
//! ends. The frontmatter wins over them, because it is part of the file.

use std::sync::Arc;

use chat::cycle::{Level, Notice};
use serde_json::Value;

use crate::audit::today;
use crate::session::Session;
use crate::shared::Shared;
use crate::switch::{self, SwitchScope};

impl Session {
    /// Switches this chat, and shows where it is sent from now on.
    pub(crate) fn switch(&mut self, arguments: &Value) {
        let settings = match switch::switch(&self.shared.settings, arguments) {
            Ok(settings) => settings,
            Err(problem) => return self.editor.report_problem(&problem),
        };
        let message = switch::message(&settings, SwitchScope::ThisChat, &today());
        self.policy.set_switched(true);
        self.settings_changed(Arc::new(self.shared.with_settings(settings)));
        let editor = self.editor.clone();
        self.with_rules_now(move |rules| {
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

    /// `:Flemma plan`: puts this chat into plan mode, or ends it.
    pub(crate) fn toggle_plan(&mut self) {
        let mut settings = self.shared.settings.clone();
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
        self.settings_changed(Arc::new(self.shared.with_settings(settings)));
        self.inform(text);
    }

    /// Returns new settings for all chats, with this chat's own provider and model if
    /// `:Flemma switch` chose them.
    pub(crate) fn with_own_target(&self, shared: Arc<Shared>) -> Arc<Shared> {
        // Only a chat that was itself switched keeps its target when the options change.
        let own = &self.shared.settings;
        if !self.policy.is_switched && !own.plan {
            return shared;
        }
        let mut settings = if self.policy.is_switched {
            shared.settings.keep_target(own)
        } else {
            shared.settings.clone()
        };
        settings.plan = own.plan;
        Arc::new(shared.with_settings(settings))
    }
}

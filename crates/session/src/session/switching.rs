//! `:Flemma switch` in one chat: its own provider, model and parameters until Neovim
//! ends. The frontmatter has the last word, because it is part of the file.

use std::sync::Arc;

use chat::cycle::{Level, Notice};
use serde_json::Value;

use super::Session;
use crate::shared::Shared;
use crate::switch::{self, Scope};

impl Session {
    /// Switches this chat, and says where it is sent from now on.
    pub(super) fn switch(&mut self, arguments: &Value) {
        let settings = match switch::switch(&self.shared.settings, arguments) {
            Ok(settings) => settings,
            Err(problem) => return self.editor.report_problem(&problem),
        };
        let message = switch::message(&settings, Scope::ThisChat);
        self.policy.set_switched(true);
        self.settings_changed(Arc::new(self.shared.with_settings(settings)));
        let editor = self.editor.clone();
        self.with_rules_now(move |rules| {
            let notice = match rules.line_of_model() {
                None => Notice {
                    level: Level::Info,
                    text: message,
                },
                Some(line) => Notice {
                    level: Level::Warning,
                    text: format!(
                        "Line {line} of the frontmatter chooses this chat's model, which wins over :Flemma switch. Change \
                         that line instead."
                    ),
                },
            };
            editor.notify(&notice);
        });
    }

    /// New settings for all chats, with this chat's own provider, model and parameters.
    pub(super) fn with_own_target(&self, shared: Arc<Shared>) -> Arc<Shared> {
        if !self.policy.is_switched() {
            return shared;
        }
        let settings = shared.settings.keep_target(&self.shared.settings);
        Arc::new(shared.with_settings(settings))
    }
}

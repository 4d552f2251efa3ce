//! Applies the rules that the user chose at earlier calls. They are read for each question,
//! because the user may have edited them.

use std::path::{Path, PathBuf};

use chat::approval::{CallKey, Decision, Question};
use policy::remembered::{CallFacts, approving};
use serde_json::Value;
use tools::checkpoints::project_of;
use tools::{ApprovedPath, Registry, ShellLists, leads_to};

use super::{CallGuard, GuardAnswers};

/// Returns what rules compare of a call whose chat is in `folder`. Blocking.
pub fn facts(
    registry: &Registry,
    folder: &Path,
    chat: Option<&Path>,
    call: &CallKey,
    input: &Value,
) -> CallFacts {
    let tool = registry.get(&call.name);
    let files = tool.map(|it| it.changes(input, folder)).unwrap_or_default();
    CallFacts {
        call: call.clone(),
        input: input.clone(),
        files: files.iter().map(|it| leads_to(it)).collect(),
        project: project_of(folder),
        chat: chat.map(leads_to),
        runs_in: leads_to(folder),
        has_known_shell: true,
        reading: match (call.name.as_str(), input["command"].as_str()) {
            // Judged by its text, because the call may be one of another chat.
            ("bash" | "shell", Some(command)) => {
                tools::reading_parts(command, &ShellLists::default(), None)
            }
            _ => Vec::new(),
        },
    }
}

impl CallGuard {
    /// Returns what rules compare of a call of this chat. Blocking.
    pub fn facts(&self, call: &CallKey, input: &Value) -> CallFacts {
        let registry = &self.shared.registry;
        let facts = facts(registry, &self.folder, self.chat.as_deref(), call, input);
        CallFacts {
            // Resolved as the guard does for protected files.
            files: self
                .paths(call, input)
                .into_iter()
                .map(|it| it.real)
                .collect(),
            runs_in: leads_to(&self.inspection.cwd),
            has_known_shell: self.shared.settings.has_known_shell(),
            reading: self.inspection.reading_parts(call),
            ..facts
        }
    }

    /// Returns where the files lead that a call changes.
    pub(super) fn paths(&self, call: &CallKey, input: &Value) -> Vec<ApprovedPath> {
        let tool = self.shared.registry.get(&call.name);
        let files = tool.map(|it| it.changes(input, &self.folder));
        let resolved = |file: PathBuf| {
            // Inside the sandbox a path may mean another file than on the machine.
            let named = self.inspection.sandbox.outside(&file);
            let real = leads_to(&named);
            ApprovedPath { named, real }
        };
        files
            .unwrap_or_default()
            .into_iter()
            .map(resolved)
            .collect()
    }

    /// Approves a call if the user's rules cover it.
    pub(super) fn remembered(
        &self,
        question: &Question,
        found: &mut GuardAnswers,
    ) -> Option<Decision> {
        let Question { call, input, .. } = question;
        let (rules, problem) = self.shared.remembered.rules_and_news();
        found.messages.extend(problem);
        if rules.is_empty() {
            return None;
        }
        let facts = self.facts(call, input);
        let name = approving(&rules, &facts)?;
        found.rules.push((call.id.clone(), name));
        // The call runs only while the paths lead where they did when the rule was applied.
        let paths = self.paths(call, input);
        let is_same = paths.iter().map(|it| &it.real).eq(&facts.files);
        if !paths.is_empty() {
            found.paths.push((call.clone(), paths));
        }
        is_same.then_some(Decision::Approve)
    }
}

//! Why a call waits for the user: in a few words beside the call, and in sentences where there is
//! room. Decides nothing.

use std::path::{Path, PathBuf};

use chat::approval::{
    self, CATCH_ALL, CONFIG, CallKey, FRONTMATTER, GUARD, HARMLESS, REMEMBERED, REVIEW, SHELL_SAFE,
};
use policy::protected::needs_review;
use serde_json::Value;
use tools::{checkpoints, leads_to};

use super::{CallGuard, RUNS_FREE, asks_about};

/// The reason why a call waits: the name of a resolver or of the cycle, and its reason if the name
/// does not imply it.
pub type WaitsBy = (String, Option<&'static str>);

/// Why a call waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// A few words, to follow "asks:".
    pub brief: String,
    /// Sentences.
    pub full: String,
}

impl Reason {
    fn new(brief: impl Into<String>, full: impl Into<String>) -> Self {
        Self {
            brief: brief.into(),
            full: full.into(),
        }
    }
}

impl CallGuard {
    /// Returns why a call waits. `by` is absent if the call was not decided in this session, as
    /// after its chat was closed. `None` if its arguments are not JSON. Blocking.
    pub fn reason(&self, call: &CallKey, by: Option<&WaitsBy>) -> Option<Reason> {
        let input: Value = serde_json::from_str(&call.input).ok()?;
        // The rules decide about the call inside an `execute_tool`.
        let (call, input) = approval::meant(call, &input);
        Some(self.reason_of(&call, &input, by))
    }

    fn reason_of(&self, call: &CallKey, input: &Value, by: Option<&WaitsBy>) -> Reason {
        let is_builtin = |name: &str| {
            [
                CATCH_ALL,
                CONFIG,
                FRONTMATTER,
                GUARD,
                HARMLESS,
                REMEMBERED,
                REVIEW,
                SHELL_SAFE,
            ]
            .contains(&name)
                || matches!(name, "default" | "flemma")
        };
        // A file that no rule can release comes first: it matters most to the user.
        self.file(call, input)
            .or_else(|| match by {
                Some((_, Some(reason))) => Some(Reason::new(*reason, "")),
                Some((name, None)) if name == REVIEW => Some(Reason::new(
                    "every change is reviewed",
                    "tools.review has you review all changes of files.",
                )),
                Some((name, None)) if !is_builtin(name) => {
                    Some(Reason::new(format!("the rule {name} says so"), ""))
                }
                _ => None,
            })
            .or_else(|| self.program(call))
            .or_else(|| self.outside(call, input))
            .unwrap_or_else(|| match by {
                None => Reason::new(
                    "it waited when this chat was opened",
                    "No call of a file runs without you.",
                ),
                Some(_) => Reason::new(
                    "not in auto_approve",
                    format!("tools.auto_approve does not approve {}.", call.name),
                ),
            })
    }

    /// The reason of a call that names a secret or a protected file.
    fn file(&self, call: &CallKey, input: &Value) -> Option<Reason> {
        let tool = self.shared.registry.get(&call.name)?;
        if let Some(secret) = self.inspection.secret(tool.as_ref(), input) {
            return Some(Reason::new(secret.kind.what(), asks_about(&secret)));
        }
        let changes = tool.changes(input, &self.folder).into_iter();
        let real = self.paths(call, input).into_iter().map(|it| it.real);
        let files: Vec<(PathBuf, PathBuf)> = changes.zip(real).collect();
        let found = needs_review(&files, self.shared.scripts.folders())?;
        let brief = format!("the file is {}", found.what());
        Some(Reason::new(brief, found.to_string()))
    }

    /// The reason of a call that runs programs.
    fn program(&self, call: &CallKey) -> Option<Reason> {
        let runs_programs = self.shared.registry.get(&call.name)?.traits().runs_commands;
        if !runs_programs {
            return None;
        }
        if self.inspection.runs_free(call) {
            let full = format!("{}{}", RUNS_FREE[..1].to_uppercase(), &RUNS_FREE[1..]);
            return Some(Reason::new("runs a command without a sandbox", full));
        }
        Some(match self.inspection.problem(call) {
            Some(problem) => Reason::new(problem.brief(), problem.to_string()),
            None => Reason::new("runs a command", ""),
        })
    }

    /// The reason of a call that names a file outside of the project.
    fn outside(&self, call: &CallKey, input: &Value) -> Option<Reason> {
        let tool = self.shared.registry.get(&call.name)?;
        let changes = tool.changes(input, &self.folder).into_iter();
        let named = changes.chain(tool.reads(input, &self.folder));
        let project = checkpoints::project_of(&self.folder);
        let is_outside = |path: &Path| !leads_to(path).starts_with(&project);
        let path = named
            .map(|it| self.inspection.sandbox.outside(&it))
            .find(|it| is_outside(it))?;
        Some(Reason::new(
            "outside the project",
            format!(
                "{} is not in {}.",
                platform::paths::visible(&path),
                platform::paths::visible(&project)
            ),
        ))
    }
}

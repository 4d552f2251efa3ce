//! `:Flemma allow` as the user sees it: the rules that a call suggests, the latest calls that
//! each would have approved, and a message about the chosen one.

use std::path::{Path, PathBuf};

use chat::approval::meant;
use chat::cycle::{Level, Notice};
use chat::preview::one_line;
use chat::text::Text;
use policy::remembered::{AllowRule, AllowScope, CallFacts, Remembered, RuleOffer, approving};
use tools::Registry;
use tools::checkpoints::is_project;

use crate::audit::{Audit, LoggedCalls};
use crate::editor::Editor;
use crate::form::Prompts;
use crate::protocol::BufferId;
use crate::resolver_calls::facts;

/// Why a rule for a command has no effect here.
const STILL_ASKS: &str =
    "Commands still ask, because no sandbox confines them here; :Flemma sandbox:status says why.";
/// Number of the latest calls that are compared with each rule.
const LATEST: usize = 50;
/// Maximum columns of a rule's name in the list.
const COLUMNS: usize = 46;

/// A pending call for which the user chooses a rule.
pub(crate) struct Remembering {
    pub(crate) editor: Editor,
    pub(crate) buffer: BufferId,
    /// Takes the name of the chosen rule once it is stored.
    pub(crate) chosen: Box<dyn FnOnce(String) + Send + Sync>,
    pub(crate) store: Remembered,
    pub(crate) audit: Audit,
    pub(crate) registry: Registry,
    /// The call for which the user chooses.
    pub(crate) facts: CallFacts,
    pub(crate) offers: Vec<RuleOffer>,
    /// True if such calls wait in any case, because no sandbox confines them.
    pub(crate) still_asks: bool,
    /// The chat's folder.
    pub(crate) folder: PathBuf,
    /// The chat's path and text.
    pub(crate) chat: (Option<PathBuf>, Text),
}

/// Rules that can be chosen together, and the latest calls that it would have approved.
struct Choice {
    name: String,
    scope: &'static str,
    /// The rules that do not exist yet.
    rules: Vec<AllowRule>,
    matched: Vec<String>,
}

impl Remembering {
    /// Asks for a rule, stores it, and has the session approve the call.
    pub(crate) async fn run(self) {
        let editor = self.editor.clone();
        let (level, text) = match self.choose().await {
            Ok(Some(text)) => (Level::Info, text),
            Ok(None) => return,
            Err(text) => (Level::Error, text),
        };
        editor.notify(&Notice { level, text });
    }

    async fn choose(self) -> Result<Option<String>, String> {
        // Up to 50 chats are read, which must not block the thread that handles keys.
        let listed = tokio::task::spawn_blocking(move || {
            let logged = self.logged();
            let choices = self.choices(&logged);
            (self, logged, choices)
        });
        let (this, logged, choices) = listed.await.map_err(|error| error.to_string())?;
        let choices = choices?;
        if choices.is_empty() {
            return Ok(Some(this.nothing_missing()));
        }
        let Some(chosen) = this.ask(&logged, &choices).await else {
            return Ok(None);
        };
        this.store.add(&chosen.rules)?;
        let name = format!("{}, {}", chosen.name, chosen.scope);
        let file = this.store.path().display().to_string();
        (this.chosen)(name.clone());
        let name = one_line(&name, 200);
        let remembered = if this.still_asks {
            format!("Remembered: {name}. {STILL_ASKS}")
        } else {
            format!("Allowed from now on: {name}.")
        };
        Ok(Some(format!(
            "{remembered} The rule is in {file}; :Flemma allow! opens it."
        )))
    }

    /// Returns the message if no rule is missing.
    fn nothing_missing(&self) -> String {
        let why = if self.still_asks {
            STILL_ASKS
        } else {
            "If it did not wait before the rule was made, the chat's auto_approve, plan mode, a protected file, \
                 or a secret makes it wait."
        };
        format!("Your rules allow calls like this one already. {why} Approve it with Alt-Enter.")
    }

    fn logged(&self) -> LoggedCalls {
        let (path, text) = &self.chat;
        let open = path.as_deref().map(|it| (it, text));
        let logged = self.audit.recent_calls(LATEST, open);
        // The counts only help to choose, so an unreadable log must not prevent it.
        logged.unwrap_or_default()
    }

    /// Returns the rules that can be chosen, without those that exist.
    fn choices(&self, logged: &LoggedCalls) -> Result<Vec<Choice>, String> {
        let known = self.store.rules()?;
        let facts: Vec<CallFacts> = logged.calls.iter().map(|it| self.facts_of(it)).collect();
        let scopes = scopes(&self.facts, &self.folder);
        let all = self
            .offers
            .iter()
            .flat_map(|offer| scopes.iter().map(move |it| (offer, it)));
        let choice = |(offer, (scope, words)): (&RuleOffer, &(AllowScope, &'static str))| {
            // With the existing rules too, because only all of them together approve the call.
            let whole = offer.addition(scope, &[], &self.facts).rules;
            let matched = facts.iter().filter(|it| approving(&whole, it).is_some());
            let added = offer.addition(scope, &known, &self.facts);
            Choice {
                name: added.name,
                scope: words,
                matched: matched.map(|it| self.described(it)).collect(),
                rules: added.rules,
            }
        };
        let choices = all.map(choice);
        Ok(choices.filter(|it| !it.rules.is_empty()).collect())
    }

    fn facts_of(&self, logged: &crate::audit::LoggedCall) -> CallFacts {
        let (call, input) = meant(&logged.call, &logged.input);
        let folder = tools::chat_folder(&logged.chat).unwrap_or_else(|| "/".into());
        facts(&self.registry, &folder, Some(&logged.chat), &call, &input)
    }

    fn described(&self, facts: &CallFacts) -> String {
        let name = &facts.call.name;
        let words = chat::preview::preview(&self.registry, name, &facts.input, 76);
        format!("  {words}")
    }

    /// Asks until the user chooses a rule or leaves.
    async fn ask<'a>(&self, logged: &LoggedCalls, choices: &'a [Choice]) -> Option<&'a Choice> {
        let prompts = self.editor.prompts(self.buffer);
        let total = logged.calls.len();
        let mut items: Vec<String> = choices.iter().map(|it| it.item(total)).collect();
        items.push(format!(
            "Show which of the last {total} calls each rule would have matched"
        ));
        items.push("Allow nothing".to_owned());
        let title = if self.still_asks {
            "No sandbox confines commands here, so they still ask. Remember a rule?"
        } else {
            "Run calls like this one without asking?"
        };
        loop {
            let at = prompts.choose(title, &items).await?;
            if at != choices.len() {
                return choices.get(at);
            }
            self.editor.report("allow", report(logged, choices));
        }
    }
}

impl Choice {
    fn item(&self, total: usize) -> String {
        let name = one_line(&self.name, COLUMNS);
        let count = self.matched.len();
        format!("{name}, {} ({count} of {total})", self.scope)
    }
}

/// Returns the scopes of a rule, the narrowest first, with their names.
fn scopes(facts: &CallFacts, folder: &Path) -> Vec<(AllowScope, &'static str)> {
    let chat = facts
        .chat
        .clone()
        .map(|it| (AllowScope::Chat(it), "this chat"));
    // A project in the home folder would contain everything.
    let project =
        is_project(folder).then(|| (AllowScope::Project(facts.project.clone()), "this project"));
    let always = (AllowScope::Always, "always");
    chat.into_iter().chain(project).chain([always]).collect()
}

/// Lists the latest calls that each rule would have approved.
fn report(logged: &LoggedCalls, choices: &[Choice]) -> Vec<String> {
    let mut lines = Vec::new();
    for choice in choices {
        lines.push(one_line(&choice.item(logged.calls.len()), 78));
        // A command of many parts has more rules than fit on its line.
        if choice.rules.len() > 1 {
            let rules = choice.rules.iter();
            lines.extend(rules.map(|it| format!("  rule: {}", one_line(&it.calls.name(), 70))));
        }
        lines.extend(choice.matched.iter().cloned());
    }
    if logged.lost > 0 {
        lines.push(String::new());
        lines.push(format!(
            "{} more calls are not compared: their chats are gone or have changed.",
            logged.lost
        ));
    }
    lines
}

//! Before each key's work: what the chat goes by, its frontmatter evaluated once.
//!
//! The evaluation runs on a thread that may wait; what happened stays in the queue
//! until its value is there.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use chat::approval::{FunctionId, Question};
use chat::cycle::{AnswerEnd, Event, Level, Notice};
use tools::Sandbox;

use super::{Input, Session};
use crate::frontmatter::{self, Source};
use crate::protocol::DiagnosticItem;
use crate::resolver_calls;
use crate::rules::{self, Reading, Rules};
use crate::settings::Here;
use crate::shared::Shared;
use crate::state_dir;
use crate::trust::Trust;

/// The rules of a chat, and how they are made.
pub(super) struct Policy {
    /// What the chat goes by since the last key.
    rules: Arc<Rules>,
    rule: Rule,
    /// The last reading of the frontmatter: what an earlier one finds is of no use.
    reading: u64,
    /// Whether `:Flemma switch` chose this chat's provider or model.
    is_switched: bool,
    /// What confines the chat's calls, until the next key.
    sandbox: OnceLock<Arc<Sandbox>>,
}

impl Policy {
    /// The rules of a chat without frontmatter.
    pub(super) fn new(rules: Arc<Rules>) -> Self {
        Self {
            rules,
            rule: Rule::default(),
            reading: 0,
            is_switched: false,
            sandbox: OnceLock::new(),
        }
    }

    pub(super) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// Returns true while the frontmatter is read for the event at the head of the queue.
    pub(super) fn is_reading(&self) -> bool {
        self.rule == Rule::Reading
    }

    /// Has the rules made anew for the next event that starts work.
    pub(super) fn expire(&mut self) {
        self.rule = Rule::Stale;
    }

    pub(super) fn is_switched(&self) -> bool {
        self.is_switched
    }

    pub(super) fn set_switched(&mut self, is_switched: bool) {
        self.is_switched = is_switched;
    }

    /// The sandbox of the chat, which `make` makes if there is none.
    pub(super) fn sandbox(&self, make: impl FnOnce() -> Arc<Sandbox>) -> &Arc<Sandbox> {
        self.sandbox.get_or_init(make)
    }

    /// Has the sandbox made anew: files that it protects may have come into being.
    pub(super) fn forget_sandbox(&mut self) {
        self.sandbox.take();
    }
}

/// How far the frontmatter is for the event at the head of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Rule {
    /// Of an earlier key.
    #[default]
    Stale,
    /// It is being read, or the folders of tools are looked at before it is.
    Reading,
    /// Those were looked at for this key.
    ToolsScanned,
    /// Of this key.
    Fresh,
}

impl Session {
    /// Whether an event starts work of its own, for which rules are made anew.
    fn starts_work(event: &Event) -> bool {
        matches!(
            event,
            Event::Advance
                | Event::Send
                | Event::Resolve { .. }
                | Event::ApproveAll
                | Event::Reject { .. }
                | Event::Steer(_)
                | Event::FollowUp(_)
                | Event::AnswerEnded(AnswerEnd::Complete)
        )
    }

    /// Makes the rules for an event, if it needs any. Whether it can be decided on
    /// now; if not it is to wait.
    pub(super) fn has_rules_for(&mut self, event: &Event) -> bool {
        if !Self::starts_work(event) || self.policy.rule == Rule::Fresh {
            self.policy.rule = Rule::Stale;
            return true;
        }
        if self.waits_for_tools(event) || self.looks_for_tools() {
            return false;
        }
        // What is to be kept as it is may have come into being.
        self.policy.forget_sandbox();
        let Some(source) = self.frontmatter_source() else {
            self.policy.rule = Rule::Stale;
            self.set_rules(self.shared.plain.clone());
            return true;
        };
        self.policy.rule = Rule::Reading;
        self.evaluate(source);
        false
    }

    /// Whether folders of tools are looked at first, as they may have changed.
    fn looks_for_tools(&mut self) -> bool {
        let scripts = &self.shared.scripts;
        if self.policy.rule == Rule::ToolsScanned || scripts.is_idle() {
            return false;
        }
        let Some(inbox) = self.inbox.upgrade() else {
            return false;
        };
        self.policy.rule = Rule::Reading;
        scripts.look_and(move || drop(inbox.send(Input::Looked)));
        true
    }

    /// They were looked at, and what was found is here.
    pub(super) fn looked(&mut self) {
        if self.policy.rule == Rule::Reading {
            self.policy.rule = Rule::ToolsScanned;
        }
    }

    fn frontmatter_source(&self) -> Option<Source> {
        // One that is broken as a block stops the cycle by itself.
        Source::of(&self.buffer.mirror.document(), self.disk.path.as_deref())
    }

    /// The options or the tools changed. What is under way goes on by the frontmatter
    /// laid over the new ones; at rest, the next key reads it anyway.
    pub(super) fn settings_changed(&mut self, shared: Arc<Shared>) {
        if self.shared.settings.folds != shared.settings.folds {
            self.view.folds.begin_again();
        }
        self.shared = shared;
        self.view.redraw();
        match self.frontmatter_source() {
            Some(source) if !self.is_idle() => {
                if self.policy.rule == Rule::Fresh {
                    self.policy.rule = Rule::Reading;
                }
                self.evaluate(source);
            }
            _ => {
                self.policy.reading += 1;
                self.policy.rule = Rule::Stale;
                self.policy.rules = self.shared.plain.clone();
                self.policy.forget_sandbox();
            }
        }
    }

    fn evaluate(&mut self, source: Source) {
        self.policy.reading += 1;
        let reading = self.policy.reading;
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let (shared, path) = (self.shared.clone(), self.disk.path.clone());
        let typed_here = self.is_frontmatter_typed();
        tokio::task::spawn_blocking(move || {
            let trusted = is_trusted(path.as_deref(), &source.text);
            // What was typed here is trusted when it is opened again, too.
            if let Some(path) = path.filter(|_| typed_here && !trusted) {
                let _ = Trust::open(&state_dir::path()).trust(&path, &source.text);
            }
            let rules = read(&shared, source, typed_here || trusted);
            drop(inbox.send(Input::Rules(reading, Box::new(rules))));
        });
    }

    /// Gives the rules that a key would make now to whoever wants to show them, and
    /// changes nothing by that.
    pub(crate) fn with_rules_now(&self, show: impl FnOnce(&Rules) + Send + 'static) {
        let shared = self.shared.clone();
        let addressed = self.addressed();
        let show = move |rules: Rules, shared: &Shared| {
            show(&Arc::new(rules).addressing(addressed, &shared.registry));
        };
        let Some(source) = self.frontmatter_source() else {
            let mut rules = Rules::clone(&shared.plain);
            let document = self.buffer.mirror.document();
            let broken = document.frontmatter.as_ref();
            rules.options.frontmatter = broken.and_then(|it| it.problem.clone()).map(Err);
            return show(rules, &shared);
        };
        let (typed_here, path) = (self.is_frontmatter_typed(), self.disk.path.clone());
        tokio::task::spawn_blocking(move || {
            let trusted = typed_here || is_trusted(path.as_deref(), &source.text);
            show(read(&shared, source, trusted), &shared);
        });
    }

    /// The frontmatter was read.
    pub(super) fn rules_made(&mut self, reading: u64, rules: Rules) {
        if reading != self.policy.reading {
            return;
        }
        // Autopilot reads it anew for each turn; one message is enough.
        let said = self.policy.rules.withheld == rules.withheld;
        for escalation in rules.withheld.iter().filter(|_| !said) {
            self.editor.notify(&Notice {
                level: Level::Warning,
                text: format!(
                    "Line {} of the frontmatter {}. Not all of it was typed here, so that does not apply until \
                     you read it and agree with :Flemma trust.",
                    escalation.line, escalation.what
                ),
            });
        }
        if self.policy.rule == Rule::Reading {
            self.policy.rule = Rule::Fresh;
        }
        self.set_rules(Arc::new(rules));
    }

    /// The tools that the user's messages address.
    fn addressed(&self) -> BTreeSet<String> {
        let document = self.buffer.mirror.document();
        chat::address::names(&document, |name| self.shared.registry.get(name).is_some())
    }

    fn set_rules(&mut self, rules: Arc<Rules>) {
        let rules = rules.addressing(self.addressed(), &self.shared.registry);
        if !Arc::ptr_eq(&self.policy.rules, &rules) {
            self.policy.rules = rules;
            self.policy.forget_sandbox();
            self.view.redraw();
        }
    }

    /// What is to be said about the frontmatter, beside what the document says.
    pub(super) fn frontmatter_remarks(&self) -> Vec<DiagnosticItem> {
        let remark = |line: usize, message: String, severity| DiagnosticItem {
            line: line.saturating_sub(1),
            end_line: line,
            message,
            severity,
            fix: None,
        };
        let failure = self.policy.rules.failure.iter();
        let failures = failure.map(|it| remark(it.line, it.message.clone(), "error"));
        let withheld = &self.policy.rules.withheld;
        let agreed = !withheld.is_empty() && self.is_frontmatter_typed();
        let withheld = withheld.iter().filter(|_| !agreed).map(|it| {
            let message = format!("This {}; it does not apply until :Flemma trust.", it.what);
            remark(it.line, message, "warning")
        });
        failures.chain(withheld).collect()
    }

    /// Takes questions to whom they are for.
    pub(super) fn ask_all(&mut self, questions: Vec<Question>) {
        let (editor, others) = questions
            .into_iter()
            .partition::<Vec<_>, _>(|it| it.function.id.is_editor());
        let (sight, others) = others
            .into_iter()
            .partition::<Vec<_>, _>(|it| it.function.id == FunctionId::Sight);
        let (guard, frontmatter) = others.into_iter().partition::<Vec<_>, _>(|it| {
            matches!(it.function.id, FunctionId::Guard | FunctionId::Held)
        });
        if !editor.is_empty() {
            self.ask(editor);
        }
        if !sight.is_empty() {
            self.look_again(sight);
        }
        if !frontmatter.is_empty() {
            self.ask_frontmatter(frontmatter);
        }
        if !guard.is_empty() {
            self.look_closer(guard);
        }
    }

    /// Has the guard look at calls. Commands are looked at on a thread that may wait: many
    /// files may have to be read.
    fn look_closer(&mut self, guard: Vec<Question>) {
        let (folder, shared) = (self.folder(), self.shared.clone());
        let (commands, others) = guard
            .into_iter()
            .partition::<Vec<_>, _>(|it| resolver_calls::is_command(&it.call));
        let here = Here {
            cwd: &self.disk.cwd,
            chat: self.path(),
        };
        let settings = &shared.settings;
        let inspection = settings.inspection(folder.clone(), here, self.sandbox().clone());
        if !commands.is_empty()
            && let Some(inbox) = self.inbox.upgrade()
        {
            let (folder, shared, inspection) = (folder.clone(), shared.clone(), inspection.clone());
            tokio::task::spawn_blocking(move || {
                let (registry, scripts) = (&shared.registry, &shared.scripts);
                let looked =
                    resolver_calls::look_closer(commands, &folder, registry, scripts, &inspection);
                drop(inbox.send(Input::Inspected(looked.answers, looked.told)));
            });
        }
        if !others.is_empty() {
            let (registry, scripts) = (&shared.registry, &shared.scripts);
            let guarded =
                resolver_calls::look_closer(others, &folder, registry, scripts, &inspection);
            guarded.told.iter().for_each(|it| self.inform(it));
            self.keep_paths(guarded.paths);
            let answered = Event::ResolverAnswered(guarded.answers);
            self.queue.push_first(answered);
        }
    }

    /// Asks the policy function of the frontmatter, on a thread that may wait.
    pub(super) fn ask_frontmatter(&self, questions: Vec<Question>) {
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let (rules, buffer) = (self.policy.rules.clone(), self.buffer.id);
        let editor = self.editor.clone();
        tokio::task::spawn_blocking(move || {
            let answers = resolver_calls::ask_frontmatter(&editor, &rules, buffer, questions);
            drop(inbox.send(Input::Functions(answers)));
        });
    }
}

/// Whether the user agreed to a frontmatter in this file. Blocking.
pub(super) fn is_trusted(path: Option<&Path>, text: &str) -> bool {
    path.is_some_and(|path| Trust::open(&state_dir::path()).is_trusted(path, text))
}

/// Evaluates a frontmatter and lays it over the options. Blocking.
fn read(shared: &Shared, source: Source, trusted: bool) -> Rules {
    let known = rules::known(&shared.settings, &shared.registry);
    let result = frontmatter::evaluate(&source, &known);
    let text = source.text;
    let reading = Reading {
        text,
        result,
        trusted,
    };
    Rules::with(&shared.plain, &shared.registry, reading)
}

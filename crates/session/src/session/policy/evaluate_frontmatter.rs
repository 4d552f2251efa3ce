//! Makes the rules of a chat before each key's work: evaluates its frontmatter once and
//! applies it to the options.
//!
//! The evaluation runs on a blocking thread, and the event stays in the queue until its
//! result is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat::cycle::{AnswerEnd, CycleEvent, Level, Notice};
use policy::frontmatter::{self, Source};
use policy::rules::{self, Reading, Rules};
use policy::trust::{Escalation, Trust};
use provider::Unmet;
use tools::state_dir;

use super::Freshness;
use crate::protocol::DiagnosticItem;
use crate::session::queue::is_of_user;
use crate::session::{Gate, Input, Session, WorkInput};
use crate::shared::Shared;

/// Returns true if an event starts new work, for which the rules are made anew.
fn starts_work(event: &CycleEvent) -> bool {
    // The calls of a complete answer are decided by the rules as they are now.
    is_of_user(event) || *event == CycleEvent::AnswerEnded(AnswerEnd::Complete)
}

impl Session {
    /// Makes the rules for an event, unless they are ready.
    pub(crate) fn prepare_rules(&mut self, event: &CycleEvent) -> Gate {
        if !starts_work(event) || self.policy.freshness == Freshness::Fresh {
            self.policy.expire();
            return Gate::Ready;
        }
        // The names of tools must be known first, because the frontmatter may use any of them.
        if self.waits_for_tools(event) || self.reads_project() || self.scans_tools() {
            return Gate::Waiting;
        }
        // New protected files may exist since the last key.
        self.policy.forget_sandbox();
        let Some(source) = self.frontmatter_source() else {
            self.policy.expire();
            self.set_rules(self.shared.plain.clone());
            return Gate::Ready;
        };
        self.policy.freshness = Freshness::Pending;
        self.evaluate(source);
        Gate::Waiting
    }

    /// Starts to scan the tool folders, which may have changed. Returns false if that was
    /// done for this key, or there is nothing to scan.
    fn scans_tools(&mut self) -> bool {
        let scripts = &self.shared.scripts;
        if self.policy.freshness == Freshness::ToolsScanned || scripts.is_idle() {
            return false;
        }
        let Some(inbox) = self.inbox.upgrade() else {
            return false;
        };
        self.policy.freshness = Freshness::Pending;
        scripts.look_and(move || drop(inbox.send(Input::Work(WorkInput::ToolsScanned))));
        true
    }

    pub(crate) fn tools_scanned(&mut self) {
        if self.policy.is_pending() {
            self.policy.freshness = Freshness::ToolsScanned;
        }
    }

    /// Returns the frontmatter, unless its block is malformed: the cycle reports that.
    fn frontmatter_source(&self) -> Option<Source> {
        Source::of(&self.buffer.document(), self.disk.path())
    }

    /// Takes over changed options or tools. Work in progress continues with the frontmatter
    /// applied to them; otherwise the next key evaluates it anyway.
    pub(crate) fn settings_changed(&mut self, shared: Arc<Shared>) {
        let shared = self.in_project(shared);
        if self.shared.settings.folds != shared.settings.folds {
            self.view.resend_folds();
        }
        self.shared = shared;
        self.view.redraw();
        match self.frontmatter_source() {
            // Work is in progress, so its rules are replaced, not only marked as stale.
            Some(source) if !self.is_idle() => {
                if self.policy.freshness == Freshness::Fresh {
                    self.policy.freshness = Freshness::Pending;
                }
                self.evaluate(source);
            }
            _ => {
                // A new number makes the result of a running evaluation obsolete.
                self.policy.evaluation += 1;
                self.policy.expire();
                self.policy.rules = self.shared.plain.clone();
                self.policy.forget_sandbox();
            }
        }
    }

    fn evaluate(&mut self, source: Source) {
        self.policy.evaluation += 1;
        let evaluation = self.policy.evaluation;
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let path = self.disk.path().map(PathBuf::from);
        let (shared, typed_here) = (self.shared.clone(), self.is_frontmatter_typed());
        tokio::task::spawn_blocking(move || {
            let trusted = is_trusted(path.as_deref(), &source.text);
            // Text that was typed here is still trusted when the chat is opened again.
            if let Some(path) = path.filter(|_| typed_here && !trusted) {
                // If this fails, the user is asked when the chat is opened again.
                let _ = Trust::open(&state_dir::path()).trust(&path, &source.text);
            }
            let rules = read(&shared, source, typed_here || trusted);
            drop(inbox.send(Input::Work(WorkInput::Rules(evaluation, Box::new(rules)))));
        });
    }

    /// Calls `show` with the rules that a key would make now, without changing any.
    pub(crate) fn with_rules_now(&self, show: impl FnOnce(&Rules) + Send + 'static) {
        let shared = self.shared.clone();
        let addressed = self.addressed();
        let show = move |rules: Rules, shared: &Shared| {
            show(&Arc::new(rules).addressing(addressed, &shared.registry));
        };
        let Some(source) = self.frontmatter_source() else {
            let mut rules = Rules::clone(&shared.plain);
            let document = self.buffer.document();
            let broken = document.frontmatter.as_ref();
            rules.options.frontmatter = broken.and_then(|it| it.problem.clone()).map(Err);
            // A malformed block is not evaluated, but the report names its problem.
            return show(rules, &shared);
        };
        let path = self.disk.path().map(PathBuf::from);
        let typed_here = self.is_frontmatter_typed();
        tokio::task::spawn_blocking(move || {
            let trusted = typed_here || is_trusted(path.as_deref(), &source.text);
            show(read(&shared, source, trusted), &shared);
        });
    }

    /// Takes the rules that an evaluation made.
    pub(crate) fn rules_made(&mut self, evaluation: u64, rules: Rules) {
        // The frontmatter or the options have changed since this evaluation began.
        if evaluation != self.policy.evaluation {
            return;
        }
        // Autopilot evaluates the frontmatter in each turn; one message is enough.
        let is_known = self.policy.rules.withheld == rules.withheld;
        for escalation in rules.withheld.iter().filter(|_| !is_known) {
            self.editor.notify(&Notice {
                level: Level::Warning,
                text: format!(
                    "Line {} of the frontmatter {}. Not all of it was typed here, so that does not apply until \
                     you read it and agree with :Flemma trust.",
                    escalation.line, escalation.what
                ),
            });
        }
        if self.policy.is_pending() {
            self.policy.freshness = Freshness::Fresh;
        }
        self.set_rules(Arc::new(rules));
    }

    /// Returns the tools that the user's messages address.
    fn addressed(&self) -> BTreeSet<String> {
        let document = self.buffer.document();
        chat::address::names(&document, |name| self.shared.registry.get(name).is_some())
    }

    fn set_rules(&mut self, rules: Arc<Rules>) {
        let rules = rules.addressing(self.addressed(), &self.shared.registry);
        let rules = self.with_own_reviews(rules);
        if !Arc::ptr_eq(&self.policy.rules, &rules) {
            self.policy.rules = rules;
            self.policy.forget_sandbox();
            self.view.redraw();
        }
    }

    /// Returns the rules with what `:Flemma review!` chose for this chat.
    fn with_own_reviews(&self, rules: Arc<Rules>) -> Arc<Rules> {
        match self.policy.reviews {
            Some(reviews) if reviews != rules.options.reviews => {
                let mut rules = Rules::clone(&rules);
                rules.options.reviews = reviews;
                Arc::new(rules)
            }
            _ => rules,
        }
    }

    /// `:Flemma review!`: has every change of files in this chat reviewed, or only those that
    /// ask.
    pub(crate) fn toggle_review(&mut self) {
        let reviews = !self.policy.rules.options.reviews;
        self.policy.reviews = Some(reviews);
        self.set_rules(self.policy.rules.clone());
        self.inform(if reviews {
            "Every change of files in this chat waits for your review. :Flemma review! ends that."
        } else {
            "Changes of files that a rule approves run without a review in this chat."
        });
    }

    /// Returns the errors of the frontmatter, and warnings about what it may not do.
    pub(crate) fn frontmatter_remarks(&self) -> Vec<DiagnosticItem> {
        let remark = |line: usize, message: String, severity| DiagnosticItem {
            line: line.saturating_sub(1),
            end_line: line,
            message,
            severity,
            fix: None,
        };
        let failure = self.policy.rules.failure.iter();
        let failures = failure.map(|it| remark(it.line, it.message.clone(), "error"));
        let withheld = self.withheld().map(|it| {
            let message = format!("This {}; it does not apply until :Flemma trust.", it.what);
            remark(it.line, message, "warning")
        });
        let unmet = self.policy.unmet.iter().filter_map(|it| {
            let line = self.policy.line_of(it.option)?;
            Some(remark(line, it.text.clone(), "warning"))
        });
        failures.chain(withheld).chain(unmet).collect()
    }

    /// Takes the options that a request cannot carry: each is reported once, and its line in
    /// the frontmatter keeps a diagnostic.
    pub(crate) fn options_unmet(&mut self, options: Vec<Unmet>) {
        for option in &options {
            self.remark(option.text.clone());
        }
        if self.policy.unmet != options {
            self.policy.unmet = options;
            self.view.redraw();
        }
    }

    /// Returns the lines of the frontmatter that do not apply until the user trusts it, from
    /// zero.
    pub(crate) fn withheld_lines(&self) -> impl Iterator<Item = usize> {
        self.withheld().map(|it| it.line.saturating_sub(1))
    }

    fn withheld(&self) -> impl Iterator<Item = &Escalation> {
        let withheld = &self.policy.rules.withheld;
        // The rules are those of the last key, and the user may have trusted the frontmatter
        // since.
        let agreed = !withheld.is_empty() && self.is_frontmatter_typed();
        withheld.iter().filter(move |_| !agreed)
    }
}

/// Returns true if the user trusted a frontmatter in this file. Blocking.
pub(super) fn is_trusted(path: Option<&Path>, text: &str) -> bool {
    path.is_some_and(|path| Trust::open(&state_dir::path()).is_trusted(path, text))
}

/// Evaluates a frontmatter and applies it to the options. Blocking.
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

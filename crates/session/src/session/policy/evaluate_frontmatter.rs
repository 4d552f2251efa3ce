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

use super::trusting::is_frontmatter_typed;
use super::{Freshness, Policy};
use crate::protocol::DiagnosticItem;
use crate::session::ctx::Ctx;
use crate::session::queue::is_of_user;
use crate::session::{Gate, Input, WorkInput};
use crate::shared::Shared;

/// Returns true if an event starts new work, for which the rules are made anew.
fn starts_work(event: &CycleEvent) -> bool {
    // The calls of a complete answer are decided by the rules as they are now.
    is_of_user(event) || *event == CycleEvent::AnswerEnded(AnswerEnd::Complete)
}

impl Policy {
    /// Returns true if the rules have to be made anew for an event.
    pub(in crate::session) fn is_stale_for(&self, event: &CycleEvent) -> bool {
        starts_work(event) && self.freshness != Freshness::Fresh
    }

    /// Makes the rules for the first event in the queue: reads the project's options, scans the tool
    /// folders, and evaluates the frontmatter.
    pub(in crate::session) fn prepare(&mut self, ctx: &mut Ctx) -> Gate {
        if self.read_project_for_key(ctx) == Gate::Waiting {
            return Gate::Waiting;
        }
        if self.scan_tools(ctx) == Gate::Waiting {
            return Gate::Waiting;
        }
        // New protected files may exist since the last key.
        ctx.forget_sandbox();
        let Some(source) = frontmatter_source(ctx) else {
            self.expire();
            let plain = ctx.shared.plain.clone();
            self.set_rules(ctx, plain);
            return Gate::Ready;
        };
        self.freshness = Freshness::Pending;
        self.evaluate(ctx, source);
        Gate::Waiting
    }

    /// Starts to scan the tool folders, which may have changed. Ready if that was done for this key,
    /// or there is nothing to scan.
    fn scan_tools(&mut self, ctx: &Ctx) -> Gate {
        let scripts = &ctx.shared.scripts;
        if self.freshness == Freshness::ToolsScanned || scripts.is_idle() {
            return Gate::Ready;
        }
        let Some(inbox) = ctx.inbox.upgrade() else {
            return Gate::Ready;
        };
        self.freshness = Freshness::Pending;
        scripts.look_and(move || drop(inbox.send(Input::Work(WorkInput::ToolsScanned))));
        Gate::Waiting
    }

    /// Follows a change of the options or tools. Work in progress continues with the frontmatter
    /// applied to them; otherwise the next key evaluates it anyway.
    pub(in crate::session) fn settings_changed(&mut self, ctx: &mut Ctx, is_idle: bool) {
        match frontmatter_source(ctx) {
            // Work is in progress, so its rules are replaced, not only marked as stale.
            Some(source) if !is_idle => {
                if self.freshness == Freshness::Fresh {
                    self.freshness = Freshness::Pending;
                }
                self.evaluate(ctx, source);
            }
            Some(_) | None => {
                // A new number makes the result of a running evaluation obsolete.
                self.evaluation += 1;
                self.expire();
                ctx.rules = ctx.shared.plain.clone();
                ctx.forget_sandbox();
            }
        }
    }

    /// Takes the options that a request cannot carry: the line of each in the frontmatter keeps a
    /// diagnostic.
    pub(in crate::session) fn set_unmet(&mut self, options: Vec<Unmet>) {
        self.unmet = options;
    }

    pub(crate) fn tools_scanned(&mut self) {
        if self.is_pending() {
            self.freshness = Freshness::ToolsScanned;
        }
    }

    fn evaluate(&mut self, ctx: &Ctx, source: Source) {
        self.evaluation += 1;
        let evaluation = self.evaluation;
        let Some(inbox) = ctx.inbox.upgrade() else {
            return;
        };
        let path = ctx.place.path().map(PathBuf::from);
        let (shared, typed_here) = (ctx.shared.clone(), is_frontmatter_typed(ctx));
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

    /// Takes the rules that an evaluation made.
    pub(crate) fn rules_made(&mut self, ctx: &mut Ctx, evaluation: u64, rules: Rules) {
        // The frontmatter or the options have changed since this evaluation began.
        if evaluation != self.evaluation {
            return;
        }
        // Autopilot evaluates the frontmatter in each turn; one message is enough.
        let is_known = ctx.rules.withheld == rules.withheld;
        for escalation in rules.withheld.iter().filter(|_| !is_known) {
            ctx.editor.notify(&Notice {
                level: Level::Warning,
                text: format!(
                    "Line {} of the frontmatter {}. Not all of it was typed here, so that does not apply until \
                     you read it and confirm with :Flemma trust.",
                    escalation.line, escalation.what
                ),
            });
        }
        if self.is_pending() {
            self.freshness = Freshness::Fresh;
        }
        self.set_rules(ctx, Arc::new(rules));
    }

    fn set_rules(&self, ctx: &mut Ctx, rules: Arc<Rules>) {
        let rules = rules.addressing(&addressed(ctx), &ctx.shared.registry);
        let rules = self.with_own_reviews(rules);
        if !Arc::ptr_eq(&ctx.rules, &rules) {
            ctx.rules = rules;
            ctx.forget_sandbox();
        }
    }

    /// Returns the rules with what `:Flemma review!` chose for this chat.
    fn with_own_reviews(&self, rules: Arc<Rules>) -> Arc<Rules> {
        match self.reviews {
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
    pub(crate) fn toggle_review(&mut self, ctx: &mut Ctx) {
        let reviews = !ctx.rules.options.reviews;
        self.reviews = Some(reviews);
        let rules = ctx.rules.clone();
        self.set_rules(ctx, rules);
        ctx.inform(if reviews {
            "Every change of files in this chat waits for your review. :Flemma review! ends that."
        } else {
            "Changes of files that a rule approves run without a review in this chat."
        });
    }

    /// Returns the errors of the frontmatter, and warnings about what it may not do.
    pub(crate) fn remarks(&self, ctx: &Ctx) -> Vec<DiagnosticItem> {
        let remark = |line: usize, message: String, severity| DiagnosticItem {
            line: line.saturating_sub(1),
            end_line: line,
            message,
            severity,
            fix: None,
        };
        let failure = ctx.rules.failure.iter();
        let failures = failure.map(|it| remark(it.line, it.message.clone(), "error"));
        let withheld = withheld(ctx).map(|it| {
            let message = format!("This {}; it does not apply until :Flemma trust.", it.what);
            remark(it.line, message, "warning")
        });
        let unmet = self.unmet.iter().filter_map(|it| {
            let line = line_of(ctx.rules(), it.option)?;
            Some(remark(line, it.text.clone(), "warning"))
        });
        failures.chain(withheld).chain(unmet).collect()
    }
}

/// Returns the lines of the frontmatter that do not apply until the user trusts it, from zero.
pub(in crate::session) fn withheld_lines(ctx: &Ctx) -> impl Iterator<Item = usize> {
    withheld(ctx).map(|it| it.line.saturating_sub(1))
}

fn withheld(ctx: &Ctx) -> impl Iterator<Item = &Escalation> {
    let withheld = &ctx.rules.withheld;
    // The rules are those of the last key, and the user may have trusted the frontmatter
    // since.
    let agreed = !withheld.is_empty() && is_frontmatter_typed(ctx);
    withheld.iter().filter(move |_| !agreed)
}

/// Returns the frontmatter, unless its block is malformed: the cycle reports that.
fn frontmatter_source(ctx: &Ctx) -> Option<Source> {
    Source::of(&ctx.buffer.document(), ctx.place.path())
}

/// Calls `show` with the rules that a key would make now, without changing any.
pub(crate) fn with_rules_now(ctx: &Ctx, show: impl FnOnce(&Rules) + Send + 'static) {
    let shared = ctx.shared.clone();
    let addressed = addressed(ctx);
    let show = move |rules: Rules, shared: &Shared| {
        show(&Arc::new(rules).addressing(&addressed, &shared.registry));
    };
    let Some(source) = frontmatter_source(ctx) else {
        let mut rules = Rules::clone(&shared.plain);
        let document = ctx.buffer.document();
        let broken = document.frontmatter.as_ref();
        rules.options.frontmatter = broken.and_then(|it| it.problem.clone()).map(Err);
        // A malformed block is not evaluated, but the report names its problem.
        return show(rules, &shared);
    };
    let path = ctx.place.path().map(PathBuf::from);
    let typed_here = is_frontmatter_typed(ctx);
    tokio::task::spawn_blocking(move || {
        let trusted = typed_here || is_trusted(path.as_deref(), &source.text);
        show(read(&shared, source, trusted), &shared);
    });
}

/// Returns the tools that the user's messages address.
fn addressed(ctx: &Ctx) -> BTreeSet<String> {
    let document = ctx.buffer.document();
    chat::address::names(&document, |name| ctx.shared.registry.get(name).is_some())
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

/// Returns the line of the frontmatter that sets an option, counted from 1. `option` is the
/// last part of its path, because a provider may have its own value.
fn line_of(rules: &Rules, option: &str) -> Option<usize> {
    let lines = &rules.evaluated.as_ref()?.overrides.lines;
    let mut set = lines.iter().filter(|(path, _)| {
        let name = path.rsplit('.').next().unwrap_or_default();
        name == option || (option == "thinking" && name == "thinking_budget")
    });
    set.next().map(|(_, line)| *line)
}

//! A buffer without an editor: keys go in, text and effects come out.

use std::collections::BTreeMap;

use chat::approval::{CallKey, Decision, OpinionSource, Policy, Resolver, ResolverChain};
use chat::cycle::{AnswerEnd, Cycle, CycleEvent, Decided, Effect, Options, Ruling, step};
use chat::document::Document;
use chat::origin::ChangeSource;
use chat::text::{Lines, Text};
use chat::tool::{ToolDefinition, ToolOutcome, ToolUseId};
use serde_json::json;

/// A buffer and its cycle. `log` records each effect on one line: `run ID`, `send`, `cancel
/// ID`, `cancel request`, `ask`, `say TEXT`.
pub struct Play {
    pub text: Text,
    pub cycle: Cycle,
    pub options: Options,
    pub log: Vec<String>,
    pub cursor: Option<usize>,
    /// Decisions so far, except approvals of calls that ran.
    pub decided: Vec<Decided>,
    /// Approvals of calls that ran.
    pub spent: Vec<Decided>,
    /// Calls that ran, with their arguments.
    pub ran: Vec<(String, serde_json::Value)>,
    /// Number of `Record` effects.
    pub records: usize,
}

/// `read`, `write`, `edit`, and `slow` run by policy; `bash` and `typed` need approval.
pub fn options() -> Options {
    let approve = ["read", "write", "edit", "slow"].map(str::to_owned).into();
    let source = OpinionSource::List(Policy {
        approve,
        ..Policy::default()
    });
    let tool = |name: &str| ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        input_schema: match name {
            "bash" => json!({
                "type": "object",
                "properties": {"command": {"type": "string"}},
                "required": ["command"],
                "additionalProperties": false,
            }),
            "typed" => json!({
                "type": "object",
                "properties": {
                    "count": {"type": "number"},
                    "mode": {"enum": ["fast", "slow"]},
                    "on": {"type": "boolean"},
                },
            }),
            _ => json!({"type": "object"}),
        },
        strict: false,
        keywords: Vec::new(),
    };
    let tools =
        ["read", "write", "bash", "slow", "typed"].map(|name| (name.to_owned(), tool(name)));
    Options {
        chain: ResolverChain::new(vec![Resolver::new("config", 100, source)]),
        tools: BTreeMap::from(tools),
        autopilot: true,
        max_turns: 100,
        max_concurrent: 4,
        ..Options::default()
    }
}

impl Play {
    /// A buffer whose text was typed in this session.
    pub fn typed(text: &str) -> Self {
        let mut play = Self::opened("");
        play.type_over(text);
        play
    }

    /// A buffer whose text was read from a file.
    pub fn opened(text: &str) -> Self {
        let mut play = Self {
            text: Text::from(text.strip_prefix('\n').unwrap_or(text)),
            cycle: Cycle::default(),
            options: options(),
            log: Vec::new(),
            cursor: None,
            decided: Vec::new(),
            spent: Vec::new(),
            ran: Vec::new(),
            records: 0,
        };
        play.cycle.text_read(&play.text);
        play.event(CycleEvent::Loaded {
            interrupted: Vec::new(),
        });
        play
    }

    /// A buffer with exactly these bytes, typed here or read from a file.
    pub fn with_bytes(bytes: Vec<u8>, opened: bool) -> Self {
        let mut play = Self::opened("");
        if !opened {
            play.replace(&Text::from_bytes(bytes), ChangeSource::USER);
            return play;
        }
        play.text = Text::from_bytes(bytes);
        play.cycle.text_read(&play.text);
        play.event(CycleEvent::Loaded {
            interrupted: Vec::new(),
        });
        play
    }

    /// Replaces the whole text.
    pub fn replace(&mut self, text: &Text, source: ChangeSource) {
        let lines: Vec<&[u8]> = (0..text.line_count()).map(|it| text.line(it)).collect();
        self.write(0..self.text.line_count(), &lines, source);
        self.event(CycleEvent::Changed);
    }

    /// Replaces the lines from the first to the last that differ, as `:s` does.
    pub fn substitute(&mut self, text: &Text, source: ChangeSource) {
        let (old, new) = (self.text.line_count(), text.line_count());
        let most = old.min(new);
        let same = |at: &usize| self.text.line(*at) == text.line(*at);
        let top = (0..most).take_while(same).count();
        let same = |at: &usize| self.text.line(old - 1 - at) == text.line(new - 1 - at);
        let bottom = (0..most - top).take_while(same).count();
        let lines: Vec<&[u8]> = (top..new - bottom).map(|it| text.line(it)).collect();
        self.write(top..old - bottom, &lines, source);
        self.event(CycleEvent::Changed);
    }

    /// Replaces lines in one change.
    pub fn write<L: AsRef<[u8]>>(&mut self, lines: Lines, new: &[L], source: ChangeSource) {
        self.cycle.changing(&self.text, &lines, new, source);
        if self.cycle.has_change() {
            self.cycle.note_undecided(&Document::parse(&self.text));
        }
        self.text.splice(lines, new);
        if self.cycle.has_change() {
            self.cycle.changed(&Document::parse(&self.text));
        }
    }

    /// Returns the first line that contains `text`.
    pub fn line_of(&self, text: &str) -> Option<usize> {
        (0..self.text.line_count()).find(|line| self.text.line_str(*line).contains(text))
    }

    /// Replaces the whole text, as the user.
    pub fn type_over(&mut self, text: &str) {
        let text = Text::from(text.strip_prefix('\n').unwrap_or(text));
        self.substitute(&text, ChangeSource::USER);
    }

    /// Replaces a piece of the text, as the user.
    #[track_caller]
    pub fn change(&mut self, from: &str, to: &str) {
        let text = self.string();
        assert!(text.contains(from), "the text has no {from:?}:\n{text}");
        self.type_over(&text.replacen(from, to, 1));
    }

    /// Appends an answer as the host writes it, and records its calls.
    pub fn answer(&mut self, text: &str, calls: &[(&str, &str, &str)]) {
        let mut writer = chat::answer::AnswerWriter::new();
        writer.text(text);
        for (name, id, input) in calls {
            writer.tool_use(name, id, input);
            let input = chat::json::canonical(&serde_json::from_str(input).unwrap());
            self.event(CycleEvent::Recorded(CallKey {
                id: ToolUseId::new(*id),
                name: (*name).to_owned(),
                input,
            }));
        }
        writer.finish(None);
        let mut whole = self.string();
        if !whole.is_empty() {
            whole.push_str("\n\n");
        }
        let text = Text::from(format!("{whole}@Assistant:{}", writer.take()).as_str());
        let lines: Vec<&[u8]> = (0..text.line_count()).map(|it| text.line(it)).collect();
        self.write(0..self.text.line_count(), &lines, ChangeSource::Host);
        self.event(CycleEvent::AnswerEnded(AnswerEnd::Complete));
    }

    /// Ends a running call with success.
    pub fn finish(&mut self, id: &str, content: &str) {
        self.end(
            id,
            ToolOutcome::Done {
                content: content.to_owned(),
                marked_failed: false,
            },
        );
    }

    /// Ends a running call.
    #[track_caller]
    pub fn end(&mut self, id: &str, outcome: ToolOutcome) {
        let call = self
            .cycle
            .running()
            .iter()
            .find(|call| call.id.as_str() == id)
            .cloned();
        let call = call.unwrap_or_else(|| panic!("{id} does not run: {:?}", self.log));
        self.event(CycleEvent::ToolsFinished(vec![(call, outcome)]));
    }

    /// Handles an event and everything that follows from it.
    pub fn event(&mut self, event: CycleEvent) {
        let mut next = Some(event);
        let mut steps = 0;
        while let Some(event) = next.take() {
            steps += 1;
            assert!(
                steps < 100,
                "the cycle does not come to rest: {:?}",
                self.log
            );
            let text = self.text.clone();
            let wrote = event == CycleEvent::Continue;
            let effects = step(
                &mut self.cycle,
                event,
                &Document::parse(&text),
                &self.options,
            );
            for effect in effects {
                if let Effect::Edit(edits) = &effect {
                    for edit in edits.iter().rev() {
                        self.write(edit.lines.clone(), &edit.replacement, ChangeSource::Host);
                        // As in an editor, the cursor stays on its text.
                        if let Some(cursor) = self
                            .cursor
                            .as_mut()
                            .filter(|cursor| edit.lines.end <= **cursor)
                        {
                            *cursor = *cursor + edit.replacement.len() - edit.lines.len();
                        }
                    }
                    next = Some(CycleEvent::Continue);
                }
                self.note(effect);
            }
            // The host does so at the end of a frame.
            if next.is_none() && !wrote && self.cycle.collects_results() {
                next = Some(CycleEvent::Continue);
            }
        }
    }

    fn note(&mut self, effect: Effect) {
        match effect {
            Effect::Edit(_) => {}
            Effect::Record(decided) => {
                self.records += 1;
                self.decided.extend(decided);
            }
            Effect::Cursor { line, .. } => self.cursor = Some(line),
            Effect::Ask(questions) => self.log.push(format!("ask {}", questions.len())),
            Effect::Run { call, input, .. } => {
                // No call may run without a decision, whatever the test is about.
                let at = self.decided.iter().position(|it| {
                    it.call == call && it.ruling == Ruling::Approved && !it.by.is_empty()
                });
                let at = at.unwrap_or_else(|| panic!("{} runs without a decision", call.id));
                self.spent.push(self.decided.remove(at));
                self.log.push(format!("run {}", call.id));
                self.ran.push((call.id.to_string(), input));
            }
            Effect::CancelTools(calls) => self
                .log
                .extend(calls.iter().map(|call| format!("cancel {}", call.id))),
            Effect::Send => self.log.push("send".to_owned()),
            Effect::Summarize(wishes) => self.log.push(format!("summarize {wishes}")),
            Effect::CancelRequest => self.log.push("cancel request".to_owned()),
            Effect::TellWaiting { calls, words } => {
                let ids: Vec<&str> = calls.iter().map(|it| it.id.as_str()).collect();
                self.log
                    .push(format!("waiting {} {words:?}", ids.join(" ")));
            }
            Effect::Notify(notice) => self.log.push(format!("say {}", notice.text)),
        }
    }

    /// Formats the decisions so far as `id ruling by (reason)`.
    pub fn rulings(&self) -> Vec<String> {
        let all = self.spent.iter().chain(&self.decided);
        let line = |it: &Decided| {
            let reason = it.reason.map(|reason| format!(" ({reason})"));
            let reason = reason.unwrap_or_default();
            format!("{} {:?} {}{reason}", it.call.id, it.ruling, it.by)
        };
        all.map(line).collect()
    }

    pub fn string(&self) -> String {
        String::from_utf8_lossy(self.text.bytes()).into_owned()
    }

    /// Takes the effects since the last call, without messages.
    pub fn log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
            .into_iter()
            .filter(|line| !line.starts_with("say "))
            .collect()
    }

    /// Takes the messages since the last call, and keeps everything else.
    pub fn said(&mut self) -> String {
        let log = std::mem::take(&mut self.log);
        let (said, rest): (Vec<String>, _) =
            log.into_iter().partition(|line| line.starts_with("say "));
        self.log = rest;
        said.join("\n")
    }

    /// Compares the text with `expected`, where `$0` marks the cursor.
    #[track_caller]
    pub fn expect(&self, expected: &str) {
        let expected = expected.strip_prefix('\n').unwrap_or(expected);
        let mut actual = self.string();
        if expected.contains("$0") {
            let mut lines: Vec<String> = actual.split('\n').map(str::to_owned).collect();
            lines[self.cursor.expect("the cursor moved")].insert_str(0, "$0");
            actual = lines.join("\n");
        }
        if actual != expected {
            let diff = similar::TextDiff::from_lines(expected, actual.as_str());
            panic!("{}", diff.unified_diff().header("expected", "actual"));
        }
    }

    /// Checks that no call ran since the last look at the log.
    #[track_caller]
    pub fn expect_no_run(&self) {
        let ran = self.log.iter().filter(|line| line.starts_with("run"));
        assert_eq!(ran.collect::<Vec<_>>(), [""; 0]);
    }

    pub fn decide_always(&mut self, decision: Decision) {
        let source = OpinionSource::Always(decision);
        self.options.chain = ResolverChain::new(vec![Resolver::new("all", 0, source)]);
    }
}

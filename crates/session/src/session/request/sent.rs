//! The record of what the chat's requests sent: repeats it in the next request, shows it, and says
//! what a change of it costs.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat::document::{Block, Document, Role};
use chat::prompt::{Content, Own, Part, Prompt, own_text};
use chat::references::{ContextSource, Piece};
use chat::server_tools::{ExactAnswer, ExactBlock};
use chat::text::Lines;
use chat::tool::ToolDefinition;
use policy::references::{Contexts, MAX_BYTES, SourceFile, Stamp, Value};
use provider::{Usage, catalogue};
use tools::objects::Hash;
use tools::{RealPath, state_dir};

use super::Request;
use super::build_request::RequestSource;
use super::shorten::shortened_results;
use super::summary::{SummaryMarks, typed_summaries};
use crate::audit::in_background;
use crate::form::Prompts;
use crate::protocol::{DiagnosticItem, SentItem};
use crate::sent::{Answered, Ledger, Places, Sending, answer_hash};
use crate::session::buffer::moved;
use crate::session::ctx::Ctx;
use crate::session::{Input, WorkInput};
use crate::usage::Tariff;

/// A line below all lines.
const LAST_LINE: usize = usize::MAX / 2;

/// A chat's ledger, which blocking threads share with the session.
#[derive(Clone, Default)]
pub(super) struct SharedLedger(Arc<Mutex<Ledger>>);

impl SharedLedger {
    /// Records what a request contains, in memory only.
    pub(super) fn record(&self, sending: Sending) {
        self.lock().sent(sending);
    }

    /// Writes to disk what was recorded. Blocking.
    pub(super) fn write(&self) {
        self.lock().write();
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the ledger of a chat's file. Blocking.
    pub(super) fn of(&self, path: Option<&Path>) -> MutexGuard<'_, Ledger> {
        let mut ledger = self.lock();
        ledger.follow(&state_dir::path(), path);
        ledger
    }
}

/// The session's view of what was sent.
#[derive(Default)]
pub(in crate::session) struct Sent {
    ledger: SharedLedger,
    report: SentReport,
    state: Comparison,
}

/// How far the text is compared with what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Comparison {
    /// The report is right.
    #[default]
    Done,
    /// The text changed where the report may be wrong.
    Stale,
    /// It is being compared.
    Running,
    /// It changed while it was being compared.
    Outrun,
}

/// A comparison of what was sent with the text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentReport {
    /// The references that were sent.
    marks: Vec<SentItem>,
    /// The line below everything that was sent.
    end: usize,
    /// The first line that changed since, and what that costs.
    edited: Option<(usize, String)>,
    /// The cost of reading all references anew.
    refresh: String,
    /// Tokens of the last request and its answer, if its provider counted them.
    tokens: Option<u64>,
    summaries: SummaryMarks,
}

impl Sent {
    pub(super) fn ledger(&self) -> SharedLedger {
        self.ledger.clone()
    }

    /// Has the text compared with what was sent.
    pub(in crate::session) fn expire(&mut self) {
        self.state = match self.state {
            Comparison::Done | Comparison::Stale => Comparison::Stale,
            Comparison::Running | Comparison::Outrun => Comparison::Outrun,
        };
    }

    /// Has the text compared after the next change, wherever that is.
    pub(super) fn follow_everything(&mut self) {
        self.report.end = LAST_LINE;
    }

    /// Returns the remark at the first line that changed after it was sent.
    pub(super) fn remark(&self) -> Option<DiagnosticItem> {
        let (line, cost) = self.report.edited.as_ref()?;
        Some(DiagnosticItem {
            line: *line,
            end_line: line + 1,
            message: format!("Changed after it was sent: {cost}."),
            severity: "info",
            fix: None,
        })
    }

    /// Returns the remarks at summaries.
    pub(super) fn summary_remarks(&self) -> impl Iterator<Item = DiagnosticItem> {
        self.report.summaries.remarks()
    }

    /// Follows a change of the text: `count` lines replaced `lines`.
    pub(super) fn follow_change(&mut self, lines: &Lines, count: usize) {
        // What is written below was not sent.
        if lines.start < self.report.end || self.report.summaries.are_at(lines) {
            self.expire();
        }
        let report = &mut self.report;
        report.end = moved(report.end, lines, count);
        for mark in &mut report.marks {
            mark.line = moved(mark.line, lines, count);
        }
        if let Some((line, _)) = &mut report.edited {
            *line = moved(*line, lines, count);
        }
        report.summaries.follow_change(lines, count);
    }
}

/// The user's text of messages with references.
#[derive(Default)]
pub(super) struct Referring(BTreeMap<usize, ReferringMessage>);

/// The user's text of one message with references.
pub(super) struct ReferringMessage {
    pub(super) pieces: Vec<Piece>,
    /// The place of each reference, by piece.
    pub(super) places: BTreeMap<usize, Hash>,
    /// Values that were sent before and are sent again, by piece.
    pub(super) kept: BTreeMap<usize, Value>,
    /// References whose value was sent and is lost, as written.
    damaged: Vec<String>,
}

impl Referring {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = (usize, &ReferringMessage)> {
        self.0.iter().map(|(index, message)| (*index, message))
    }

    /// Returns the pieces whose values have to be found.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &Piece> {
        self.0.values().flat_map(|message| {
            let pieces = message.pieces.iter().enumerate();
            let unknown = pieces.filter(|(at, _)| !message.kept.contains_key(at));
            unknown.map(|(_, piece)| piece)
        })
    }

    /// Returns remarks about values that were sent and are lost.
    pub(super) fn damaged(&self) -> Vec<String> {
        let written = self.0.values().flat_map(|it| &it.damaged);
        written
            .map(|written| {
                format!(
                    "{written} was read anew: the copy of what was sent is damaged, so what the model sees changed."
                )
            })
            .collect()
    }
}

/// Returns true if an answer follows the message: only then was the message sent for good.
fn is_answered(document: &Document<'_>, message: usize) -> bool {
    let mut below = document.messages.iter().skip(message + 1);
    below.any(|it| it.role == Role::Assistant)
}

impl RequestSource {
    /// Returns the references of the text, with the values that are sent again.
    pub(super) fn referring(&self) -> Referring {
        let document = self.document();
        let ledger = self.ledger.of(self.path.as_deref());
        let mut places = ledger.places(&document);
        let summary = ledger.summary(&document, &self.typed);
        let messages = chat::references::in_document(&document).into_iter();
        let is_sent =
            |index: usize| index >= summary || document.messages[index].role == Role::System;
        let messages = messages.filter(|(index, _)| is_sent(*index));
        let messages = messages.map(|(index, pieces)| {
            let places = places_of(&pieces, &mut places);
            let mut message = ReferringMessage {
                pieces,
                places,
                kept: BTreeMap::new(),
                damaged: Vec::new(),
            };
            // Until it is answered, a message is read anew: its files may have been corrected.
            if is_answered(&document, index) {
                message.look_up(&ledger);
            }
            (index, message)
        });
        Referring(messages.collect())
    }

    /// Returns remarks about files that others changed since they were sent. Blocking.
    pub(super) fn changed_files(&self, referring: &Referring) -> Vec<String> {
        let mut ledger = self.ledger.lock();
        let mut remarks = Vec::new();
        for message in referring.0.values() {
            for at in message.kept.keys() {
                let place = message.places[at];
                let Some(file) = ledger.reference(place).and_then(|it| it.file.clone()) else {
                    continue;
                };
                match self.change_of(&file, &message.kept[at]) {
                    FileChange::None => {}
                    FileChange::Known(stamp) => {
                        ledger.note_file(place, SourceFile { stamp, ..file });
                    }
                    FileChange::ByOthers => remarks.push(changed(message.pieces[*at].written())),
                }
            }
        }
        remarks
    }

    /// Reads the resources that are sent again, and delivers remarks about those that changed since.
    /// The request does not wait for it, because a server may be slow.
    pub(super) fn look_for_changed_resources(
        self: &Arc<Self>,
        referring: &Referring,
        contexts: &Contexts,
    ) {
        let document = self.document();
        let last = document.messages.last();
        // Once for each message of the user, not for each request of autopilot.
        if last.is_none_or(|it| own_text(&document, it).is_none()) {
            return;
        }
        // The model knows all values that were sent, so one of them may be the present one.
        let mut sent: BTreeMap<(String, String), (String, Vec<Content>)> = BTreeMap::new();
        for message in referring.0.values() {
            for (at, value) in &message.kept {
                if let Piece::Context {
                    source: source @ ContextSource::Resource { server, uri },
                    written,
                    ..
                } = &message.pieces[*at]
                    && let Value::File(file) = value
                    // A new message has the present content.
                    && !contexts.contains_key(source)
                {
                    let key = (server.clone(), uri.clone());
                    let of_uri = sent.entry(key).or_insert((written.clone(), Vec::new()));
                    of_uri.1.push(file.content.clone());
                }
            }
        }
        let source = self.clone();
        // One after another, because a long chat can have many.
        tokio::spawn(async move {
            for ((server, uri), (written, contents)) in sent {
                // A server that cannot be reached says nothing about its resource.
                let Ok(resource) = source.places.read(&server, &uri).await else {
                    continue;
                };
                if resource.content().is_ok_and(|it| !contents.contains(&it)) {
                    source.inbox.deliver(WorkInput::Remark(changed(&written)));
                }
            }
        });
    }

    fn change_of(&self, file: &SourceFile, sent: &Value) -> FileChange {
        let read = || -> Option<(Stamp, Vec<u8>)> {
            let opened = RealPath::of(&file.path).ok()?.open_file().ok()??;
            let stamp = Stamp::of(&opened.metadata().ok()?);
            let mut bytes = Vec::new();
            if stamp != file.stamp {
                opened.take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
            }
            Some((stamp, bytes))
        };
        // A file that is gone or cannot be read is not what was sent.
        let Some((stamp, bytes)) = read() else {
            return FileChange::ByOthers;
        };
        if stamp == file.stamp {
            FileChange::None
        } else if sent.is_of(&bytes) || self.seen.has(&file.path, &bytes) {
            // Touched, or changed by a tool of this chat.
            FileChange::Known(stamp)
        } else {
            FileChange::ByOthers
        }
    }

    /// Returns the tools of the request: those of the chat's first request, as they were
    /// described then. A call of one that is gone is refused. Adds later ones to the messages below which they
    /// were offered first.
    pub(super) fn offered(
        &self,
        document: &Document<'_>,
        summary: usize,
        own: &mut Own,
        sending: &mut Sending,
    ) -> OfferedTools {
        let offered = &self.rules.offered;
        let has_answer = document
            .messages
            .iter()
            .any(|it| it.role == Role::Assistant);
        let mut ledger = self.ledger.lock();
        let Some(first) = ledger.tools().filter(|_| has_answer) else {
            sending.tools = Some(offered.clone());
            return OfferedTools {
                first: offered.as_slice().into(),
                news: None,
            };
        };
        let mut first = first.to_vec();
        // A message that is not sent offers no tools.
        first.extend(ledger.added_above(document, summary));
        let mut known: HashSet<String> = first.iter().map(|it| it.name.clone()).collect();
        let mut places = ledger.places(document);
        let messages = document.messages.iter().enumerate();
        // A summary has the place of the message above it.
        let users = messages.filter(|(_, it)| it.role == Role::You && !it.is_summary);
        let users: Vec<_> = users.collect();
        if ledger.has_added() {
            for (index, message) in users.iter().filter(|(at, _)| *at >= summary) {
                let added = ledger.added(places.above(message.lines.end));
                let added = added.iter().flat_map(|it| it.iter());
                // Providers refuse two tools with one name.
                let added = added.filter(|it| known.insert(it.name.clone()));
                add_tools(document, own, *index, added.cloned().collect());
            }
        }
        let news = offered.iter().filter(|it| !known.contains(&it.name));
        let news: Vec<_> = news.cloned().collect();
        // The cycle sends a chat only below a message of the user.
        let last = users.last().filter(|_| !news.is_empty());
        let news = last.map(|(index, message)| {
            let names: Vec<&str> = news.iter().map(|it| it.name.as_str()).collect();
            let names = names.join(", ");
            sending.added = Some((places.above(message.lines.end), news.clone()));
            add_tools(document, own, *index, news);
            let cost = cost(document, &ledger, 0, 1.0);
            format!("New tools of this chat ({names}) change the beginning of the request: {cost}.")
        });
        let first = first.into();
        OfferedTools { first, news }
    }
}

/// Returns the remark about a reference whose content changed after it was sent.
fn changed(written: &str) -> String {
    format!(
        "{written} changed after it was sent, and the model still has the earlier content. Mention it in a new message \
         to send it as it is now, or read everything anew with :Flemma refresh."
    )
}

/// The tools that a request offers from its beginning on.
pub(super) struct OfferedTools {
    pub(super) first: Arc<[ToolDefinition]>,
    /// A sentence about the cost of new ones, unless the provider takes them at their place.
    pub(super) news: Option<String>,
}

/// Offers tools from a message of the user on.
fn add_tools(document: &Document<'_>, own: &mut Own, index: usize, tools: Vec<ToolDefinition>) {
    if tools.is_empty() {
        return;
    }
    let parts = own.entry(index).or_insert_with(|| {
        let text = own_text(document, &document.messages[index]);
        text.map(Part::Text).into_iter().collect()
    });
    parts.push(Part::ToolsAdded(tools));
}

/// Removes the model's thinking above the last place at which it was refused, and above the place
/// `bound`, at which it is bound to messages that the summary replaces. Returns true if any was.
pub(super) fn remove_refused(
    document: &Document<'_>,
    summary: usize,
    ledger: &Ledger,
    bound: Option<Hash>,
    prompt: &mut Prompt,
) -> bool {
    if !ledger.has_refused() && bound.is_none() {
        return false;
    }
    let mut places = ledger.places(document);
    let (mut refused, mut replaced) = (0, 0);
    for (index, message) in document.messages.iter().enumerate() {
        let place = places.above(message.lines.end);
        if bound == Some(place) {
            replaced = index + 1;
        } else if ledger.is_refused(place) {
            refused = index;
        }
    }
    let above = document.messages.iter().take(refused.max(replaced));
    let blocks = above.skip(summary).flat_map(|it| document.blocks_of(it));
    let mut left = blocks.filter(|it| matches!(it, Block::Thinking(_))).count();
    let mut has_signed = false;
    for message in &mut prompt.messages {
        let had = left;
        // The prompt has the thinking of the document in the same order.
        message.parts.retain(|part| match part {
            Part::Thinking {
                signature,
                redacted,
                ..
            } if left > 0 => {
                left -= 1;
                has_signed |= signature.is_some() || *redacted;
                false
            }
            _ => true,
        });
        if had > left
            && let Some(exact) = &mut message.exact
        {
            let is_thinking = |it: &ExactBlock| matches!(it, ExactBlock::Thinking(_));
            exact.blocks.retain(|it| !is_thinking(it));
        }
    }
    prompt.messages.retain(|it| !it.is_empty());
    has_signed && replaced > refused
}

/// How a file differs from what was sent of it.
enum FileChange {
    None,
    /// The model knows its content.
    Known(Stamp),
    /// Someone else changed or removed it.
    ByOthers,
}

impl ReferringMessage {
    fn look_up(&mut self, ledger: &Ledger) {
        for (at, place) in &self.places {
            match ledger.value(*place) {
                None => {}
                Some(Ok(value)) => drop(self.kept.insert(*at, value)),
                Some(Err(_)) => self.damaged.push(self.pieces[*at].written().to_owned()),
            }
        }
    }
}

/// Returns the place of each reference, by piece.
fn places_of(pieces: &[Piece], places: &mut Places<'_>) -> BTreeMap<usize, Hash> {
    let mut found = BTreeMap::new();
    for (at, piece) in pieces.iter().enumerate() {
        if let Some(line) = piece.line() {
            found.insert(at, places.reference(line, piece.written()));
        }
    }
    found
}

/// Compares a chat with what was sent of it. Blocking.
fn compare(document: &Document<'_>, typed: &HashSet<usize>, ledger: &Ledger) -> SentReport {
    let summary = ledger.summary(document, typed);
    let summaries = SummaryMarks::find(document, summary);
    let Some(sent) = ledger.text() else {
        return SentReport {
            summaries,
            ..SentReport::default()
        };
    };
    let mut marks: Vec<SentItem> = Vec::new();
    let mut places = ledger.places(document);
    for pieces in chat::references::in_document(document).values() {
        let found = places_of(pieces, &mut places);
        for (at, place) in found {
            let Some((line, sent)) = pieces[at].line().zip(ledger.reference(place)) else {
                continue;
            };
            // Prose that only looks like a reference. It is kept, so that it stays text.
            if matches!(pieces[at], Piece::Context { .. }) && sent.is_inline() {
                continue;
            }
            match marks.last_mut().filter(|it| it.line == line) {
                Some(mark) => {
                    mark.bytes += sent.bytes;
                    mark.at = mark.at.max(Some(sent.at));
                }
                None => marks.push(SentItem {
                    line,
                    bytes: sent.bytes,
                    at: Some(sent.at),
                }),
            }
        }
    }
    let cost = |line: usize, share: f64| cost(document, ledger, line, share);
    let edited = sent.edited(document, summary).filter(|it| {
        // Below the last answer, nothing was signed or cached that a change could spoil.
        let mut answers = document.messages.iter();
        answers.any(|message| message.role == Role::Assistant && message.lines.start > it.line)
    });
    let first = marks.first().map_or(0, |it| it.line);
    let shortened = shortened_results(document, summary, ledger).map(|(line, bytes)| SentItem {
        line,
        bytes: bytes as u64,
        at: None,
    });
    marks.extend(shortened);
    SentReport {
        end: sent.end(document, summary),
        edited: edited.map(|it| (it.line, cost(it.line, it.share))),
        refresh: cost(first, sent.share_from(document, summary, first)),
        summaries,
        tokens: ledger.answered_with(document, summary),
        marks,
    }
}

/// Returns what a change at a line costs with the next request, as the end of a sentence.
pub(super) fn cost(document: &Document<'_>, ledger: &Ledger, line: usize, share: f64) -> String {
    let answered = ledger.answered();
    let binds = answered.is_some_and(|it| it.binds_thinking);
    let mut below = document.messages.iter().filter(|it| it.lines.end > line);
    let has_thinking = binds
        && below.any(|message| {
            let mut blocks = document.blocks_of(message).iter();
            blocks.any(|block| match block {
                Block::Thinking(thinking) => {
                    thinking.lines.start > line && thinking.signature.is_some()
                }
                Block::Prose(_)
                | Block::TextBreak(_)
                | Block::ToolUse(_)
                | Block::ToolResult(_)
                | Block::ServerTool(_)
                | Block::Aborted(_) => false,
            })
        });
    let tokens = answered.map(|it| (it.tokens as f64 * share) as u64);
    let paid = match tokens {
        Some(tokens @ 1000..) => format!("{}k cached tokens are paid again", tokens / 1000),
        Some(tokens) => format!("{tokens} cached tokens are paid again"),
        None => "cached tokens are paid again".to_owned(),
    };
    if has_thinking {
        format!("thinking below is dropped, and {paid}")
    } else {
        paid
    }
}

impl Request {
    /// Returns the references that were sent.
    pub(in crate::session) fn sent_marks(&self) -> &[SentItem] {
        &self.sent.report.marks
    }

    /// Returns the line of the comment of the summary that counts, and the number of messages that it
    /// replaces.
    pub(in crate::session) fn current_summary(&self) -> Option<(usize, usize)> {
        self.sent.report.summaries.current()
    }

    /// Returns the tokens of the last request and its answer, also of an earlier Neovim.
    pub(in crate::session) fn sent_tokens(&self) -> Option<u64> {
        self.sent.report.tokens
    }

    /// Starts to compare the text with what was sent, if it changed there.
    pub(crate) fn compare_sent(&mut self, ctx: &Ctx) {
        let sent = &mut self.sent;
        if sent.state != Comparison::Stale || ctx.editor.is_headless() || ctx.buffer.is_loading() {
            return;
        }
        let (text, parsed) = ctx.buffer.share();
        let (ledger, path) = (sent.ledger.clone(), ctx.place.path().map(Path::to_owned));
        let typed = typed_summaries(ctx);
        let Some(inbox) = ctx.inbox.upgrade() else {
            return;
        };
        sent.state = Comparison::Running;
        tokio::task::spawn_blocking(move || {
            let document = Document::of(&text, parsed);
            let report = compare(&document, &typed, &ledger.of(path.as_deref()));
            drop(inbox.send(Input::Work(WorkInput::SentCompared(report))));
        });
    }

    /// Takes the result of a comparison, unless the text has changed meanwhile. Returns true if
    /// the chat looks different.
    pub(crate) fn sent_compared(&mut self, report: SentReport) -> bool {
        let sent = &mut self.sent;
        if sent.state == Comparison::Outrun {
            sent.state = Comparison::Stale;
            return false;
        }
        sent.state = Comparison::Done;
        let is_new = sent.report != report;
        sent.report = report;
        is_new
    }

    /// Returns a line of `:Flemma status` about what was sent.
    pub(crate) fn sent_status(&self) -> Option<String> {
        let report = &self.sent.report;
        let count = report.marks.iter().filter(|it| it.at.is_some()).count();
        let kept = (count > 0).then(|| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{count} line{plural} with references as sent before; :Flemma refresh reads them anew")
        });
        let edited = report.edited.as_ref();
        let edited = edited.map(|(line, cost)| format!("line {} changed: {cost}", line + 1));
        let words: Vec<String> = kept.into_iter().chain(edited).collect();
        (!words.is_empty()).then(|| format!("sent       {}", words.join("; ")))
    }

    /// Records that the model's thinking so far was refused, so that the next request does
    /// without it.
    pub(super) fn note_thinking_refused(&self, ctx: &Ctx) {
        let document = ctx.buffer.document();
        let mut messages = document.messages.iter();
        let Some(last) = messages.rfind(|it| it.role == Role::You) else {
            return;
        };
        let ledger = self.sent.ledger();
        // At once, because the next key must find it.
        let mut known = ledger.lock();
        let place = known.places(&document).above(last.lines.end);
        known.note_refused(place);
        drop(known);
        self.write_sent(ctx);
    }

    /// Keeps the answer that ends at a line in the form in which its provider sent it, unless its text
    /// was edited since it was `written`.
    pub(super) fn keep_exact(&self, ctx: &Ctx, line: usize, exact: &ExactAnswer, written: Hash) {
        let document = ctx.buffer.document();
        let message = document.message_at(line).map(|at| &document.messages[at]);
        let Some(message) = message.filter(|it| it.role == Role::Assistant) else {
            return;
        };
        if answer_hash(&document, message) != written {
            return;
        }
        let ledger = self.sent.ledger();
        // At once, because the next request must find it.
        ledger.lock().keep_exact(written, exact);
        self.write_sent(ctx);
    }

    /// Writes to disk what was recorded, in the background.
    fn write_sent(&self, ctx: &Ctx) {
        let (ledger, path) = (self.sent.ledger(), ctx.place.path().map(Path::to_owned));
        in_background(move || drop(ledger.of(path.as_deref())));
    }

    /// Records what the answer to a request showed.
    pub(super) fn note_answered(&self, ctx: &Ctx, usage: Usage, tariff: &Tariff) {
        let own = ctx.rules().settings.models.get(&tariff.model);
        let model = catalogue::model(&tariff.provider, &tariff.model, own);
        let answered = Answered {
            tokens: usage.context(),
            binds_thinking: model.preserved_thinking == Some(true),
            summary: self.summary_key(ctx),
        };
        let (ledger, path) = (self.sent.ledger(), ctx.place.path().map(Path::to_owned));
        in_background(move || ledger.of(path.as_deref()).note_answer(answered));
    }

    /// Gives the ledger to a copy of the chat at this path.
    pub(crate) fn copy_sent(&self, ctx: &Ctx, copy: &Path) {
        let (ledger, path) = (self.sent.ledger(), ctx.place.path().map(Path::to_owned));
        let copy = copy.to_owned();
        in_background(move || {
            ledger
                .of(path.as_deref())
                .copy_to(&state_dir::path(), &copy);
        });
    }

    /// `:Flemma refresh`: asks, and has the next request read all references anew.
    pub(crate) fn refresh_references(&self, ctx: &Ctx) {
        let report = &self.sent.report;
        if *report == SentReport::default() {
            return ctx.inform(
                "Nothing of this chat was sent before, so the next request reads all references.",
            );
        }
        let title = format!(
            "Read references and tools anew? With the next request, {}.",
            report.refresh
        );
        let (editor, buffer) = (ctx.editor.clone(), ctx.buffer.id());
        let (ledger, path) = (self.sent.ledger(), ctx.place.path().map(Path::to_owned));
        let inbox = ctx.inbox.clone();
        tokio::spawn(async move {
            let items = ["Read them anew", "Leave them as they were sent"].map(str::to_owned);
            let prompts = editor.prompts(buffer);
            if prompts.choose(&title, &items).await != Some(0) {
                return;
            }
            let forget = move || ledger.of(path.as_deref()).forget();
            // It fails only if the thread panicked; then the ledger is as it was.
            let _ = in_background(forget).await;
            inbox.deliver(WorkInput::Recorded);
        });
    }
}

//! Sends folds that differ from those that the editor has.
//!
//! Neovim and the plugin move folds with the text, so a key or a delta sends nothing: a
//! message is due when a block is complete, or when a fold has another text. The host does
//! not know which folds the user opened or closed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use chat::document::Document;
use chat::folds::{Fold, FoldText, FoldedPart, fold_text, part, part_at, part_count};
use chat::preview::Describe;
use tokio::time::Instant;

use super::View;
use super::folding::{FoldProgress, Folding, SentPart};
use super::outcomes::Outcomes;
use crate::protocol::{
    Action, Choice, DiagnosticItem, Display, EditorCommand, FoldAbove, FoldItem, FoldPart, Folds,
    MarkItem, Unfold,
};
use crate::session::Gate;
use crate::session::ctx::Ctx;

/// Lines that the user must see, by a stable name of their content.
pub(in crate::session) type Seen = BTreeMap<String, Vec<usize>>;

/// Maximum folds per message, except for a part with more. Neovim makes these in about a
/// millisecond; the next ones follow a frame later.
const PIECE: usize = 100;
/// Time from a change to its message: colors, results, and previews come first, and
/// changes often come together.
const PAUSE: Duration = Duration::from_millis(50);
/// Number of parts above a change that it may affect: a message is no longer the last one,
/// or a call in it got its result.
const BEFORE: usize = 2;

/// Folds that will be sent.
#[derive(Debug, Default)]
pub(in crate::session) struct FoldNews {
    parts: Vec<FoldPart>,
    /// The state of all parts that changed, once this is sent.
    sent: Vec<SentPart>,
    /// First lines of all parts that were compared.
    starts: Vec<usize>,
    /// Errors that were not there before.
    errors: Vec<usize>,
    /// The line from which there is more to send.
    rest: Option<usize>,
}

/// The data on which the state and the text of a new fold depend.
struct Showing<'a> {
    document: &'a Document<'a>,
    closed: &'a [String],
    seen: &'a Seen,
    outcomes: &'a Outcomes,
    tools: &'a dyn Describe,
}

impl Showing<'_> {
    fn item(&self, fold: &Fold) -> FoldItem {
        let named = self.closed.iter().any(|name| name == fold.kind.name());
        let mut seen = self.seen.values().flatten();
        // Content that the user must see is never closed, whatever the options say.
        let closed = named && !fold.must_show && !seen.any(|line| fold.lines.contains(line));
        let text = fold_text(self.document, fold, self.tools, |it, call| {
            self.outcomes.run(it, call, self.tools)
        });
        let FoldText { label, group, text } = text;
        let (start, end) = (fold.lines.start, fold.lines.end);
        FoldItem(
            start,
            end,
            fold.kind.is_inner(),
            closed,
            group,
            label.into_owned(),
            text,
        )
    }
}

impl FoldNews {
    /// Compares a part with its sent state. Returns the number of folds to send.
    fn compare(&mut self, part: &FoldedPart, old: &Folding, showing: &Showing<'_>) -> usize {
        let (sent, alone) = old.part(&part.lines);
        self.starts.push(part.lines.start);
        // Folds of a part that is two parts now, or that Neovim may have cut, are sent again.
        let has_shape = |it: &&SentPart| {
            alone && !it.reshaped && SentPart::shape(part).eq(it.folds.iter().cloned())
        };
        let same = sent.filter(has_shape);
        if same.is_some_and(|it| !it.edited) {
            return 0;
        }
        let items: Vec<FoldItem> = part.folds.iter().map(|fold| showing.item(fold)).collect();
        let errors = part.folds.iter();
        let errors = errors.filter(|it| it.must_show && it.kind.is_inner());
        let errors: Vec<usize> = errors.map(|it| it.lines.start).collect();
        let now = SentPart::new(part, errors.len(), digest(&items));
        // The text changed, but not what its folds show.
        let is_shown = same.is_some_and(|it| it.texts == now.texts);
        self.sent.push(now);
        if is_shown {
            return 0;
        }
        let has_more_errors = errors.len() > sent.map_or(0, |it| it.errors);
        // When a chat is opened, its old errors are not new, so they unfold nothing.
        if has_more_errors && (sent.is_some() || old.progress == FoldProgress::Whole) {
            self.errors.extend(errors);
        }
        // A part without folds counts too, so that a message of such parts has a limit.
        let count = items.len().max(1);
        let (first, last) = (part.lines.start, part.lines.end);
        self.parts.push(FoldPart { first, last, items });
        count
    }

    /// Compares parts, until a message is full.
    fn compare_all(
        &mut self,
        parts: impl Iterator<Item = FoldedPart>,
        old: &Folding,
        showing: &Showing<'_>,
    ) {
        let mut items = 0;
        for part in parts {
            // At least one part is sent each time, however large it is.
            if items > 0 && items + part.folds.len() > PIECE {
                self.rest.get_or_insert(part.lines.start);
                return;
            }
            // A chat that begins with a message has no lines above it, so the first part is
            // empty.
            if !part.lines.is_empty() {
                items += self.compare(&part, old, showing);
            }
        }
    }
}

fn digest(items: &[FoldItem]) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Not `closed`, which applies to a new fold only: the user may have opened it since.
    for FoldItem(_, _, _, _, group, label, text) in items {
        (group, label, text).hash(&mut hasher);
    }
    hasher.finish()
}

impl View {
    /// Schedules the next message about folds. Waiting while the text changed a moment ago.
    pub(in crate::session) fn schedule_folds(&mut self) -> Gate {
        if self.folds.dirty.is_none() {
            return Gate::Ready;
        }
        let due = self.folds.due;
        let due = due.unwrap_or_else(|| Instant::now() + PAUSE);
        // The time of the first change is kept, so that steady typing cannot delay a message
        // forever.
        self.folds.due = Some(due);
        if due <= Instant::now() {
            return Gate::Ready;
        }
        self.redraw_at(due);
        Gate::Waiting
    }

    /// Notes the calls without a result whose arguments are shown, which have folds.
    pub(in crate::session) fn follow_arguments(&mut self, marks: &[MarkItem]) {
        self.folds.follow_arguments(marks);
    }

    /// Collects the folds to be sent; `None` while no window shows the chat.
    pub(in crate::session) fn fold_news(
        &self,
        ctx: &Ctx,
        document: &Document<'_>,
        marks: &[MarkItem],
        seen: &Seen,
    ) -> Option<FoldNews> {
        let folding = &self.folds;
        let dirty = folding.dirty?;
        let options = &ctx.shared.settings.folds;
        let visible = self.lines()?;
        if ctx.editor.is_headless()
            || (!options.enabled && folding.progress != FoldProgress::Nothing)
        {
            return None;
        }
        let mut news = FoldNews::default();
        if !options.enabled {
            // Empty, so that the editor removes the folds that it has.
            return Some(news);
        }
        let showing = Showing {
            document,
            closed: &options.closed,
            seen,
            outcomes: &self.outcomes,
            tools: &ctx.shared.registry,
        };
        let count = part_count(document);
        // When a chat is opened, the visible part comes first.
        let parts = if folding.progress == FoldProgress::Nothing {
            news.rest = Some(0);
            part_at(document, visible.start)..(part_at(document, visible.end) + 1).min(count)
        } else {
            // A change can complete the blocks right above it.
            part_at(document, dirty).saturating_sub(BEFORE)..count
        };
        let shown = marks.iter().filter_map(|it| it.json);
        let shown: Vec<usize> = shown.map(|(fence, _)| fence).collect();
        let parts = parts.map(|at| part(document, at, &shown));
        news.compare_all(parts, folding, &showing);
        Some(news)
    }

    /// Sends folds to the editor.
    pub(in crate::session) fn show_folds(&mut self, ctx: &Ctx, news: Option<FoldNews>) {
        let Some(news) = news else {
            return;
        };
        let folding = &mut self.folds;
        // The first message is sent even if it is empty: it tells the editor whether there are
        // folds.
        if folding.progress == FoldProgress::Nothing || !news.parts.is_empty() {
            let message = Folds {
                buffer: ctx.buffer.id(),
                seq: ctx.buffer.seq(),
                enabled: ctx.shared.settings.folds.enabled,
                opening: folding.progress != FoldProgress::Whole,
                parts: news.parts,
            };
            ctx.editor.show(Display::Folds(message));
        }
        self.unfold(ctx, &news.errors);
        let more = news.rest.is_some();
        self.folds.note(news.sent, &news.starts, news.rest);
        if more {
            self.redraw_next();
        }
    }

    /// Opens folds around what the user must see and could not see before.
    pub(in crate::session) fn show_unfolded(&mut self, ctx: &Ctx, seen: Seen, is_answering: bool) {
        // Content that the user has seen and folded again stays folded.
        let is_new = |name: &String| !self.folds.seen.contains_key(name);
        let new = seen.iter().filter(|(name, _)| is_new(name));
        let lines: Vec<usize> = new.flat_map(|(_, lines)| lines).copied().collect();
        self.unfold(ctx, &lines);
        // While an answer arrives, errors are left out; the user has seen earlier ones.
        if is_answering {
            self.folds.seen.extend(seen);
        } else {
            self.folds.seen = seen;
        }
    }

    /// Closes the folds above a summary once, when it begins to replace the messages there, or when the
    /// chat is opened.
    pub(in crate::session) fn fold_above(&mut self, ctx: &Ctx, summary: Option<(usize, usize)>) {
        let folds = &mut self.folds;
        // Folds that are not sent yet cannot be closed.
        if folds.progress != FoldProgress::Whole || folds.dirty.is_some() {
            return;
        }
        let replaced = summary.map(|(_, count)| count);
        if folds.replaced == replaced {
            return;
        }
        folds.replaced = replaced;
        if let Some((line, _)) = summary {
            let buffer = ctx.buffer.id();
            // The line above the comment is the role marker.
            let line = line.saturating_sub(1);
            ctx.editor
                .show(Display::FoldAbove(FoldAbove { buffer, line }));
        }
    }

    fn unfold(&self, ctx: &Ctx, lines: &[usize]) {
        if !lines.is_empty() && !ctx.editor.is_headless() {
            ctx.editor.show(Display::Unfold(Unfold {
                buffer: ctx.buffer.id(),
                lines: lines.to_vec(),
            }));
        }
    }

    /// Opens folded calls that a key would decide about. Returns true if there is one: the
    /// key then does nothing else.
    pub(crate) fn unfold_hidden(&self, ctx: &Ctx, command: &EditorCommand) -> bool {
        // Only what would run without having been seen is shown first.
        // The window of a call has shown it.
        let is_shown = matches!(
            command.action,
            Action::Decide(_, Choice::Run | Choice::Allow)
        );
        if is_shown || !command.action.approves() {
            return false;
        }
        let marks = self.shown.marks.iter();
        let hidden = marks.filter(|mark| command.hidden.contains(&mark.id));
        let lines: Vec<usize> = hidden.flat_map(lines_to_read).collect();
        self.unfold(ctx, &lines);
        !lines.is_empty()
    }
}

/// Collects pending calls and errors of the text. While an answer arrives, it is full of blocks that
/// are not closed yet.
pub(in crate::session) fn must_be_seen(
    marks: &[MarkItem],
    diagnostics: &[DiagnosticItem],
    is_answering: bool,
) -> Seen {
    let state = |mark: &&MarkItem| matches!(mark.state, Some("pending" | "asking"));
    let marks = marks.iter().filter(state);
    let marks = marks.map(|mark| (mark.id.clone(), lines_to_read(mark)));
    let errors = diagnostics
        .iter()
        .filter(|it| !is_answering && it.severity == "error");
    let errors = errors.map(|it| (it.message.clone(), vec![it.line]));
    marks.chain(errors).collect()
}

/// Returns the lines of a pending call that the user reads before deciding: the header
/// of its result, the placeholder, and the header of the call, unless all of its arguments are
/// shown below the placeholder.
fn lines_to_read(mark: &MarkItem) -> Vec<usize> {
    let result = [mark.header_line, mark.line];
    mark.call
        .filter(|_| mark.json.is_none())
        .map(|(header, _)| header)
        .into_iter()
        .chain(result)
        .collect()
}

//! Which folds the editor has, and what it is told when they differ.
//!
//! Neovim moves folds along with the text. The same is done here with what it was told,
//! so that a message is sent when something became whole or another, and none for a key
//! or a delta. What can be folded is known to [`chat::folds`]; which folds the user
//! opened or closed is not known here.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use chat::document::Document;
use chat::folds::{Fold, Part, part, part_at, part_count, words};

use tokio::time::Instant;

use super::Session;
use super::folding::{Folding, Told};
use super::outcomes::Outcomes;
use crate::protocol::{Command, DiagnosticItem, FoldItem, FoldPart, Folds, MarkItem, Unfold};

/// What the user must see: the lines of each thing, by a name that it keeps.
pub(super) type Seen = BTreeMap<String, Vec<usize>>;

/// Most folds that are told at once, but for a message with more: Neovim makes these in
/// less than a millisecond. The next are told a frame later.
const PIECE: usize = 100;
/// How long after a change they are told: colours, results and previews come first, and
/// the next change may come soon.
const PAUSE: Duration = Duration::from_millis(50);
/// How many parts before a change it may concern: that a message is not the last any more,
/// and that a call in it has its result.
const BEFORE: usize = 2;

/// What the editor is to be told.
#[derive(Debug, Default)]
pub(super) struct News {
    parts: Vec<FoldPart>,
    /// For each part: what it replaces of what was told, and by what.
    told: Vec<(Range<usize>, Vec<Told>)>,
    /// Errors that were not there before.
    errors: Vec<usize>,
    /// From where on there is more to tell.
    rest: Option<usize>,
}

/// What decides how a new fold is shown.
struct Showing<'a> {
    closed: &'a [String],
    seen: &'a Seen,
    outcomes: &'a Outcomes,
}

impl Showing<'_> {
    fn closes(&self, fold: &Fold) -> bool {
        let named = self.closed.iter().any(|name| name == fold.kind.name());
        let mut seen = self.seen.values().flatten();
        named && !fold.must_show && !seen.any(|line| fold.lines.contains(line))
    }
}

impl News {
    /// Looks at one part. How many folds are to be told for it.
    fn compare(
        &mut self,
        document: &Document<'_>,
        part: Part,
        old: &Folding,
        is_last: bool,
        showing: &Showing<'_>,
    ) -> usize {
        let anew = old.is_spoiled(&part.lines);
        let place = old.within(&part.lines, is_last);
        let told = &old.told[place.clone()];
        let words = |fold: &Fold| words(document, fold, |it, call| showing.outcomes.run(it, call));
        let same = |(told, fold): (&Told, &Fold)| told.is(fold, || words(fold));
        if !anew && told.len() == part.folds.len() && told.iter().zip(&part.folds).all(same) {
            return 0;
        }
        let was_told = !old.opening || !told.is_empty();
        let mut items = Vec::new();
        let mut now = Vec::new();
        for fold in part.folds {
            let is_new = was_told && !told.iter().any(|it| it.begins_at(fold.lines.start));
            if is_new && fold.must_show && fold.kind.is_inner() {
                self.errors.push(fold.lines.start);
            }
            let said = words(&fold);
            now.push(Told::new(&fold, &said));
            items.push(FoldItem(
                fold.lines.start,
                fold.lines.end,
                fold.kind.is_inner(),
                showing.closes(&fold),
                said.group,
                said.label.into_owned(),
                said.text,
            ));
        }
        let (first, last) = (part.lines.start, part.lines.end);
        let count = now.len().max(1);
        self.parts.push(FoldPart {
            first,
            last,
            anew,
            items,
        });
        self.told.push((place, now));
        count
    }
}

impl Session {
    /// Whether folds are not to be told yet, because the text has changed just now.
    pub(super) fn folds_wait(&mut self) -> bool {
        if self.folds.dirty.is_none() {
            return false;
        }
        let due = self.folds.due.get_or_insert_with(|| Instant::now() + PAUSE);
        let waits = *due > Instant::now();
        if waits {
            self.view.redraw_at(*due);
        }
        waits
    }

    /// What can be folded that could not before, or is another. Nothing as long as no
    /// window shows the chat.
    pub(super) fn fold_news(&self, document: &Document<'_>, seen: &Seen) -> Option<News> {
        let dirty = self.folds.dirty?;
        let options = &self.shared.settings.folds;
        let visible = self.view.lines()?;
        if self.editor.is_here() || (!options.enabled && !self.folds.fresh) {
            return None;
        }
        let mut news = News::default();
        if !options.enabled {
            return Some(news);
        }
        let showing = Showing {
            closed: &options.closed,
            seen,
            outcomes: &self.view.outcomes,
        };
        let count = part_count(document);
        // What is on the screen comes first when a chat is opened.
        let parts = if self.folds.fresh {
            news.rest = Some(0);
            part_at(document, visible.start)..(part_at(document, visible.end) + 1).min(count)
        } else {
            part_at(document, dirty).saturating_sub(BEFORE)..count
        };
        let mut items = 0;
        for at in parts {
            let part = part(document, at);
            if items > 0 && items + part.folds.len() > PIECE {
                news.rest.get_or_insert(part.lines.start);
                break;
            }
            items += news.compare(document, part, &self.folds, at + 1 == count, &showing);
        }
        Some(news)
    }

    /// Tells the editor.
    pub(super) fn show_folds(&mut self, news: Option<News>) {
        let Some(news) = news else {
            return;
        };
        let folding = &mut self.folds;
        if folding.fresh || !news.parts.is_empty() {
            let message = Folds {
                buffer: self.buffer,
                seq: self.seq,
                enabled: self.shared.settings.folds.enabled,
                reset: folding.fresh,
                opening: folding.opening,
                parts: news.parts,
            };
            self.editor.send("folds", &message);
        }
        self.unfold(&news.errors);
        let folding = &mut self.folds;
        let more = news.rest.is_some();
        folding.tell(news.told, news.rest);
        if more {
            self.view.redraw_next();
        }
    }

    /// Calls that wait, and errors of the text.
    pub(super) fn must_be_seen(&self, marks: &[MarkItem], diagnostics: &[DiagnosticItem]) -> Seen {
        let state = |mark: &&MarkItem| matches!(mark.state, Some("pending" | "asking"));
        let marks = marks.iter().filter(state);
        let marks = marks.map(|mark| (mark.id.clone(), lines_to_read(mark)));
        // An answer that is half there is full of what is not closed yet.
        let whole = self.request.is_none();
        let errors = diagnostics
            .iter()
            .filter(|it| whole && it.severity == "error");
        let errors = errors.map(|it| (it.message.clone(), vec![it.line]));
        marks.chain(errors).collect()
    }

    /// Opens what is folded round something that must be seen and was not there before.
    pub(super) fn show_unfolded(&mut self, seen: Seen) {
        let is_new = |name: &String| !self.folds.seen.contains_key(name);
        let new = seen.iter().filter(|(name, _)| is_new(name));
        let lines: Vec<usize> = new.flat_map(|(_, lines)| lines).copied().collect();
        self.unfold(&lines);
        // What an answer that arrives leaves unsaid was seen all the same.
        if self.request.is_some() {
            self.folds.seen.extend(seen);
        } else {
            self.folds.seen = seen;
        }
    }

    fn unfold(&self, lines: &[usize]) {
        if !lines.is_empty() && !self.editor.is_here() {
            let buffer = self.buffer;
            self.editor.send("unfold", &Unfold { buffer, lines });
        }
    }

    /// A key decides about no call that is folded away: it is opened. Whether one is.
    pub(super) fn unfold_hidden(&self, command: &Command) -> bool {
        if !command.decides() {
            return false;
        }
        let marks = self.view.marks.iter();
        let hidden = marks.filter(|mark| command.hidden.contains(&mark.id));
        let lines: Vec<usize> = hidden.flat_map(lines_to_read).collect();
        self.unfold(&lines);
        !lines.is_empty()
    }
}

/// The lines of a waiting call that the user reads before deciding about it: the call's
/// own header, the result's, and that of the placeholder.
fn lines_to_read(mark: &MarkItem) -> Vec<usize> {
    let result = [mark.header_line, mark.line];
    mark.call_line.into_iter().chain(result).collect()
}

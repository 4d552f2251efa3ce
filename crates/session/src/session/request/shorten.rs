//! `:Flemma shorten`: sends old results shortened from the next request on, and `:Flemma shorten!`
//! sends them whole again. The chat keeps them whole.

use std::path::Path;

use chat::context::tokens;
use chat::cycle::{Level, Notice};
use chat::document::{Document, ToolResultBlock};
use chat::prompt::{Part, Prompt};
use chat::shorten::{old_results, shortened};
use chat::tool::ToolUseId;
use chat::truncate::format_size;

use super::Request;
use super::sent::cost;
use super::summary::typed_summaries;
use crate::audit::in_background;
use crate::form::Prompts;
use crate::sent::Ledger;
use crate::session::WorkInput;
use crate::session::ctx::Ctx;

/// Old results that are sent whole and could be sent shortened.
#[derive(Default)]
pub(super) struct Shortening {
    results: Vec<(ToolUseId, String)>,
    /// Bytes that are saved.
    saved: usize,
    /// The line of the first one.
    first: usize,
}

impl Shortening {
    /// Finds them from the message `summary` on.
    pub(super) fn find(document: &Document<'_>, summary: usize, ledger: &Ledger) -> Self {
        let mut found = Self::default();
        for result in sent_results(document, summary) {
            let content = document.content(result.body.clone());
            let id = &result.tool_use_id;
            let is_whole = ledger.shortened(id, &content).is_none();
            let Some(short) = shortened(&content).filter(|_| is_whole) else {
                continue;
            };
            if found.results.is_empty() {
                found.first = result.lines.start;
            }
            found.saved += content.len().saturating_sub(short.len());
            found.results.push((id.clone(), content.into_owned()));
        }
        found
    }

    /// Returns the number of results, and about how many tokens are saved.
    pub(super) fn savings(&self) -> (usize, f64) {
        (self.results.len(), tokens(self.saved))
    }
}

/// Shortens the results of a request that are sent so.
pub(super) fn shorten_results(ledger: &Ledger, prompt: &mut Prompt) {
    let parts = prompt.messages.iter_mut().flat_map(|it| &mut it.parts);
    for part in parts {
        if let Part::ToolResult {
            tool_use_id,
            content,
            ..
        } = part
            && let Some(short) = ledger.shortened(tool_use_id, content)
        {
            *content = short;
        }
    }
}

impl Request {
    /// Asks, and has old results sent shortened, or all of them whole.
    pub(in crate::session) fn shorten(&self, ctx: &Ctx, shortens: bool) {
        let (text, parsed) = ctx.buffer.share();
        let (ledger, path) = (self.sent.ledger(), ctx.place.path().map(Path::to_owned));
        let (editor, buffer, inbox) = (ctx.editor.clone(), ctx.buffer.id(), ctx.inbox.clone());
        let typed = typed_summaries(ctx);
        tokio::spawn(async move {
            let (asked, at, own) = (ledger.clone(), path.clone(), typed.clone());
            let (of, parts) = (text.clone(), parsed.clone());
            let question = in_background(move || {
                let document = Document::of(&of, parts);
                let ledger = asked.of(at.as_deref());
                let summary = ledger.summary(&document, &own);
                if shortens {
                    shorten_question(&document, summary, &ledger)
                } else {
                    whole_question(&document, summary, &ledger)
                }
            });
            // It fails only if the thread panicked.
            let Ok(question) = question.await else { return };
            let (title, yes) = match question {
                Ok(question) => question,
                Err(why) => {
                    return editor.notify(&Notice {
                        level: Level::Info,
                        text: why.to_owned(),
                    });
                }
            };
            let items = [yes, "Leave them as they are"].map(str::to_owned);
            if editor.prompts(buffer).choose(&title, &items).await != Some(0) {
                return;
            }
            let record = move || {
                let document = Document::of(&text, parsed);
                let mut ledger = ledger.of(path.as_deref());
                let summary = ledger.summary(&document, &typed);
                if shortens {
                    shorten_all(&document, summary, &mut ledger);
                } else {
                    let first = first_shortened(&document, summary, &ledger).unwrap_or_default();
                    ledger.send_whole(&document, summary, first);
                }
            };
            let _ = in_background(record).await;
            inbox.deliver(WorkInput::Recorded);
        });
    }
}

/// Has the old results sent shortened from the next request on.
pub(super) fn shorten_all(document: &Document<'_>, summary: usize, ledger: &mut Ledger) {
    let found = Shortening::find(document, summary, ledger);
    let results = found.results.iter().map(|(id, it)| (id, it.as_str()));
    ledger.shorten(document, summary, found.first, results);
}

/// Returns the old results that are sent, from the message `summary` on.
fn sent_results<'d>(
    document: &'d Document<'_>,
    summary: usize,
) -> impl Iterator<Item = &'d ToolResultBlock> {
    let first = document.messages.get(summary);
    let start = first.map_or(0, |it| it.lines.start);
    old_results(document).filter(move |it| it.lines.start >= start)
}

type Question = Result<(String, &'static str), &'static str>;

fn shorten_question(document: &Document<'_>, summary: usize, ledger: &Ledger) -> Question {
    let found = Shortening::find(document, summary, ledger);
    let results = match found.results.len() {
        0 => {
            let why =
                "No old result is long enough to be shortened. The last two turns stay whole.";
            return Err(why);
        }
        1 => "1 old result".to_owned(),
        count => format!("{count} old results"),
    };
    let saved = format_size(found.saved as u64);
    let once = once(document, summary, ledger, found.first);
    let title = format!("Send {results} shortened? Each request is {saved} shorter.{once}");
    Ok((title, "Shorten them"))
}

fn whole_question(document: &Document<'_>, summary: usize, ledger: &Ledger) -> Question {
    let Some(first) = first_shortened(document, summary, ledger) else {
        return Err("No result of this chat is sent shortened.");
    };
    let once = once(document, summary, ledger, first);
    Ok((
        format!("Send all results whole again?{once}"),
        "Send them whole",
    ))
}

/// Returns a sentence about what a change at a line costs once.
fn once(document: &Document<'_>, summary: usize, ledger: &Ledger, line: usize) -> String {
    let Some(sent) = ledger.text() else {
        return String::new();
    };
    let share = sent.share_from(document, summary, line);
    let cost = cost(document, ledger, line, share);
    format!(" With the next request, {cost}.")
}

/// Returns the line of the first result that is sent shortened.
fn first_shortened(document: &Document<'_>, summary: usize, ledger: &Ledger) -> Option<usize> {
    shortened_results(document, summary, ledger)
        .next()
        .map(|(line, _)| line)
}

/// Returns the lines of results that are sent shortened, with their bytes.
pub(super) fn shortened_results(
    document: &Document<'_>,
    summary: usize,
    ledger: &Ledger,
) -> impl Iterator<Item = (usize, usize)> {
    sent_results(document, summary).filter_map(|result| {
        let content = document.content(result.body.clone());
        let short = ledger.shortened(&result.tool_use_id, &content)?;
        Some((result.lines.start, short.len()))
    })
}

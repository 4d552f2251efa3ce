//! `:Flemma compact`: has the model write a summary of the chat, which the user edits and puts into
//! it. The same before a request, if the options want that when the context is nearly full.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use agent::answer::{AnswerBuilder, AnswerEvent};
use agent::transport;
use chat::Problem;
use chat::context::{BYTES_PER_TOKEN, tokens};
use chat::document::{Document, Role};
use chat::prompt::Prompt;
use chat::summary::{self, SignedSummary, Summary};
use chat::text::Lines;
use provider::catalogue::ThinkingKind;
use provider::{Endpoint, Feature, Parameters, StreamEvent, Thinking, ThinkingLevel, WebTools};
use tokio::sync::mpsc;
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::sync::CancellationToken;
use tools::SeenFiles;
use tools::objects::Hash;

use super::Request;
use super::answer::Open;
use super::build_request::{RequestSource, Weighed};
use super::send::{DestinationFinder, tariff};
use super::shorten::shorten_all;
use super::unknown_price::PriceCheck;
use super::usage::Meter;
use crate::audit::now;
use crate::endpoint::{self, Destination};
use crate::frontend::SessionEvent;
use crate::protocol::{DiagnosticItem, Display, ReviewClosed, ReviewQuestion, ReviewSubject};
use crate::sent::{self, WrittenSummary};
use crate::session::WorkInput;
use crate::session::buffer::moved;
use crate::session::ctx::{Ctx, Inbox};

/// The id of the review of a draft.
const REVIEW: &str = "chat:summary";
/// Tokens of the context of a model that is not known, for the size of the summary's request.
const UNKNOWN_CONTEXT: u64 = 100_000;
/// The share of the context that the last messages may have, which are kept as they are.
const KEPT: f64 = 0.1;
/// The share of the context that the conversation may have in the request for its summary. Texts with
/// many tokens per byte, such as data, fit as well.
const ASKED: f64 = 0.5;
/// The share of the context up to which the provider summarizes the conversation itself.
const LARGEST: f64 = 0.9;
/// The share of the context that a summary should have.
const WRITTEN: f64 = 0.08;
/// Words that a summary should have at least and at most.
const WORDS: (f64, f64) = (150.0, 2000.0);
/// The share of the tokens of a request that a summary must save to be placed without the user.
const LEAST_SAVED: f64 = 0.2;
/// The share by which the chat grows before a summary is offered, or tried, again.
const AGAIN: f64 = 0.2;
/// Requests for one summary, of which the second asks for fewer words.
const TRIES: u32 = 2;

/// What the user should know about a summary that the provider wrote.
const SIGNED: &str = "The provider wrote and signed this summary. Without a change, the model's thinking in the messages below it stays \
                      valid; with one, the summary is sent as text.";

/// What the user should know about a summary that ends at the token limit.
const CUT: &str =
    "The summary reached its token limit and ends with \"…\". Check what it leaves out.";

/// What is known about summaries in a chat.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    /// Tokens of the last request of this session and its answer.
    counted: Option<Tokens>,
    /// The tokens of the chat when a summary was last offered or placed, or could not be made.
    settled: Option<Tokens>,
}

/// Tokens of the chat as it is sent with one summary.
#[derive(Debug, Clone, Copy)]
struct Tokens {
    count: u64,
    /// The hash of the summary's comment; `None` without a summary. When a summary is placed, undone,
    /// or deleted, the number says nothing any more.
    summary: Option<Hash>,
}

/// A summary that the user may edit before it gets its place.
pub struct Draft {
    summary: Summary,
    /// The same as the provider wrote it, if it did.
    written: Option<WrittenSummary>,
    /// True if it ends at the token limit.
    is_cut: bool,
}

/// The end of a request for a summary.
pub struct Drafted {
    /// True if a request waits for it.
    sends: bool,
    draft: Result<Draft, NoDraft>,
    /// One for each request to the model.
    meters: Vec<Meter>,
}

/// Why there is no draft.
enum NoDraft {
    Failed(Problem),
    /// The user does not pay for it, so nothing else is sent either.
    Refused(Problem),
    Cancelled,
}

impl From<Problem> for NoDraft {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

/// What follows from the end of a request for a summary.
pub(in crate::session) enum AfterDraft {
    /// The summary gets its place, and the chat is sent.
    Place(Summary),
    /// The chat is sent without it.
    Send,
    /// The user decides about the summary, if there is one.
    Rest,
}

impl Request {
    /// Has the model write a summary, as the request with this number. `sends` is true if the chat is
    /// sent then, and `wishes` is what the user wants from the summary.
    pub(in crate::session) fn summarize(
        &mut self,
        ctx: &Ctx,
        number: u64,
        wishes: String,
        sends: bool,
    ) {
        let cancel = CancellationToken::new();
        let note = "Writing a summary".to_owned();
        ctx.editor.emit(SessionEvent::RequestNote(note.clone()));
        let mut open = Open::new(number, cancel.clone());
        open.note = Some(note.into());
        self.open = Some(open);
        let summarizing = Summarizing {
            number,
            sends,
            wishes,
            finder: DestinationFinder::of(ctx),
            inbox: ctx.inbox.clone(),
            price_check: self.price_check(ctx),
            cancel,
            tokens: self.context_tokens(ctx).map(|it| it.count),
        };
        let source = self.request_source(ctx, SeenFiles::default());
        tokio::spawn(summarizing.run(source));
    }

    /// Returns true if the options want a summary before the next request.
    pub(in crate::session) fn is_summary_due(&self, ctx: &Ctx) -> bool {
        ctx.rules().settings.context.auto_compact
            && !ctx.editor.is_dry_run()
            && self.nearly_full(ctx).is_some()
    }

    /// Offers a summary once the context is nearly full.
    pub(in crate::session) fn offer_summary(&mut self, ctx: &Ctx) {
        if ctx.rules().settings.context.auto_compact || ctx.editor.is_headless() {
            return;
        }
        let Some(tokens) = self.nearly_full(ctx) else {
            return;
        };
        self.summaries.settled = Some(tokens);
        ctx.inform(
            "The context is nearly full. :Flemma compact has the model summarize the earlier messages; you can edit \
             the summary before it replaces them. :Flemma context shows what they need.",
        );
    }

    /// Returns about how many tokens the next request has, if they reach `context.compact_at` and a
    /// summary is possible. Never, if the model's limit or the tokens of the chat are not known.
    fn nearly_full(&self, ctx: &Ctx) -> Option<Tokens> {
        let settings = &ctx.rules().settings;
        let share = settings.context.compact_at()?;
        let limit = endpoint::target(settings, &|name| tools::variable(name)).context?;
        let tokens = self.context_tokens(ctx)?;
        let settled = self.summaries.settled;
        let settled = settled.filter(|it| it.summary == tokens.summary);
        // At the limit in any case, because the request would be too long.
        let settled = settled.map(|at| (at.count as f64 * (1.0 + AGAIN)).min(limit as f64));
        if (tokens.count as f64) < settled.unwrap_or(limit as f64 * share) {
            return None;
        }
        let document = ctx.buffer.document();
        let ledger = self.sent.ledger();
        let first = ledger
            .of(ctx.place.path())
            .summary(&document, &typed_summaries(ctx));
        let replaced = summary::replaced(&document, first, Size::of(Some(limit)).kept);
        replaced.is_ok().then_some(tokens)
    }

    /// Returns about how many tokens the next request has, if its provider counts them.
    fn context_tokens(&self, ctx: &Ctx) -> Option<Tokens> {
        let document = ctx.buffer.document();
        let ledger = self.sent.ledger();
        let ledger = ledger.of(ctx.place.path());
        let answered = ledger.answered().map(|it| Tokens {
            count: it.tokens,
            summary: it.summary,
        });
        let counted = self.summaries.counted.or(answered)?;
        let first = ledger.summary(&document, &typed_summaries(ctx));
        let summary = sent::key(&document, first);
        let mut messages = document.messages.iter().rev();
        let last = messages.find(|it| it.role == Role::Assistant)?;
        let (counted, below) = if counted.summary == summary {
            (counted.count, last.lines.end)
        } else {
            (0, document.messages[first].lines.start)
        };
        let end = document.text().line_count();
        let below = document.text().slice(below.min(end)..end).len();
        Some(Tokens {
            count: counted + tokens(below) as u64,
            summary,
        })
    }

    /// Returns the hash of the comment of the summary that the next request begins with.
    pub(super) fn summary_key(&self, ctx: &Ctx) -> Option<Hash> {
        let document = ctx.buffer.document();
        let ledger = self.sent.ledger();
        let ledger = ledger.of(ctx.place.path());
        sent::key(&document, ledger.summary(&document, &typed_summaries(ctx)))
    }

    /// Notes how many tokens the last request and its answer had.
    pub(super) fn note_context(&mut self, ctx: &Ctx, tokens: u64) {
        let summary = self.summary_key(ctx);
        self.summaries.counted = Some(Tokens {
            count: tokens,
            summary,
        });
        // The last summary saved enough for another one.
        let most = |at: u64| at as f64 * (1.0 - LEAST_SAVED);
        let settled = self.summaries.settled;
        self.summaries.settled = settled.filter(|at| tokens as f64 > most(at.count));
    }

    /// Takes the end of a request for a summary. Shows the draft, unless the chat waits for it. Returns
    /// its cost in dollars and what follows; nothing does if it was cancelled, so that its end follows.
    pub(in crate::session) fn drafted(
        &mut self,
        ctx: &Ctx,
        number: u64,
        drafted: Drafted,
    ) -> (f64, Option<AfterDraft>) {
        let Drafted {
            sends,
            draft,
            meters,
        } = drafted;
        let costs = meters.into_iter().filter_map(|it| it.add_usage(ctx));
        let cost = costs.sum();
        if self.open_as(number).is_none_or(|open| open.end.is_some()) {
            return (cost, None);
        }
        self.open = None;
        // The chat may have changed meanwhile.
        let draft = match draft {
            Ok(draft) if sends => match draft.summary.place(&ctx.buffer.document()) {
                Ok(_) => Ok(draft),
                Err(why) => Err(NoDraft::Failed(Problem::new(why, ""))),
            },
            draft => draft,
        };
        if draft.as_ref().is_ok_and(|it| it.is_cut) {
            ctx.warn(CUT.to_owned());
        }
        let next = match draft {
            Ok(draft) if sends => AfterDraft::Place(self.place(ctx, draft)),
            Ok(draft) => {
                if draft.written.is_some() {
                    ctx.inform(SIGNED);
                }
                review(ctx, draft, None);
                AfterDraft::Rest
            }
            Err(NoDraft::Failed(problem)) if sends => {
                self.summaries.settled = self.context_tokens(ctx);
                ctx.warn(format!(
                    "{} The chat is sent without a summary.",
                    problem.what
                ));
                AfterDraft::Send
            }
            Err(NoDraft::Failed(problem) | NoDraft::Refused(problem)) => {
                ctx.editor.report_problem(&problem);
                AfterDraft::Rest
            }
            Err(NoDraft::Cancelled) => AfterDraft::Rest,
        };
        (cost, Some(next))
    }

    /// Takes a draft that the user wrote. Returns it, or shows it again if it cannot be placed now.
    pub(in crate::session) fn draft_written(
        &mut self,
        ctx: &Ctx,
        draft: Draft,
        is_working: bool,
    ) -> Option<Summary> {
        let placed = if is_working {
            Err("Something is running in the chat.")
        } else {
            draft.summary.place(&ctx.buffer.document()).map(drop)
        };
        if let Err(why) = placed {
            let note = format!("{why} Nothing was put into the chat. Correct it, then :w again.");
            review(ctx, draft, Some(note));
            return None;
        }
        let closed = ReviewClosed {
            buffer: ctx.buffer.id(),
            call: REVIEW.to_owned(),
        };
        ctx.editor.show(Display::ReviewClosed(closed));
        Some(self.place(ctx, draft))
    }

    /// Notes that a summary gets its place. Unless it is sent as the provider wrote it, old results are
    /// sent shortened from then on.
    fn place(&mut self, ctx: &Ctx, draft: Draft) -> Summary {
        let Draft {
            summary, written, ..
        } = draft;
        let written = written.filter(|it| it.summary.content.trim() == summary.text.trim());
        let document = ctx.buffer.document();
        // It saved enough only if the chat grows beyond what it has now.
        self.summaries.settled = self.context_tokens(ctx).map(|it| Tokens {
            summary: Some(sent::comment_key(&summary.comment())),
            ..it
        });
        // Not in the background: the next request must find it.
        let ledger = self.sent.ledger();
        let mut ledger = ledger.of(ctx.place.path());
        let is_written = written.is_some();
        ledger.note_summary(&document, &summary, written);
        if !is_written {
            shorten_all(&document, summary.end(), &mut ledger);
        }
        drop(ledger);
        self.sent.follow_everything();
        ctx.editor.emit(SessionEvent::Summarized {
            buffer: ctx.buffer.id(),
            messages: summary.count(),
        });
        summary
    }
}

/// Has the user edit a draft. `note` says why it is shown again.
fn review(ctx: &Ctx, draft: Draft, note: Option<String>) {
    let (editor, buffer) = (ctx.editor.clone(), ctx.buffer.id());
    let inbox = ctx.inbox.clone();
    let question = ReviewQuestion {
        buffer,
        call: REVIEW.to_owned(),
        subject: ReviewSubject::Summary,
        text: draft.summary.text.clone(),
        note,
        problems: Vec::new(),
    };
    tokio::spawn(async move {
        if let Some(bytes) = editor.review(question).await {
            let mut draft = draft;
            draft.summary.text = String::from_utf8_lossy(&bytes).into_owned();
            inbox.deliver(WorkInput::DraftWritten(draft));
        }
    });
}

/// A request for a summary.
struct Summarizing {
    number: u64,
    sends: bool,
    wishes: String,
    finder: DestinationFinder,
    inbox: Inbox,
    price_check: Option<PriceCheck>,
    cancel: CancellationToken,
    /// About how many tokens the next request would have.
    tokens: Option<u64>,
}

impl Summarizing {
    async fn run(self, source: RequestSource) {
        let mut meters = Vec::new();
        let cancel = self.cancel.clone();
        let draft = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(NoDraft::Cancelled),
            draft = self.draft(source, &mut meters) => draft,
        };
        let (number, sends) = (self.number, self.sends);
        // Also after a cancel, because what was read until then is paid.
        let drafted = Drafted {
            sends,
            draft,
            meters,
        };
        self.inbox
            .deliver(WorkInput::Drafted(number, Box::new(drafted)));
    }

    async fn draft(
        &self,
        mut source: RequestSource,
        meters: &mut Vec<Meter>,
    ) -> Result<Draft, NoDraft> {
        let settings = &source.rules.settings;
        let found = self.finder.find(settings, &|_| ()).await?;
        if let Some(check) = &self.price_check {
            check.ask(&found).await.map_err(NoDraft::Refused)?;
        }
        let Destination::Server(endpoint, parameters) = found else {
            return Err(Problem::new("The tutor's chat needs no summary.", "").into());
        };
        let limit = parameters.about.context;
        source.takes_signed = takes_signed(&endpoint, &parameters);
        let weighed = Arc::new(source.weigh().await?);
        let size = Size::of(limit);
        let replaced = summary::replaced(&weighed.document(), weighed.first, size.kept);
        let replaced = replaced.map_err(|why| Problem::new(why, ""))?;
        let to = (&endpoint, &*parameters);
        if let Some(range) = self.provider_range(&weighed, &replaced, to)
            && let Some(draft) = self
                .written(&weighed, range, size.words, to, meters)
                .await?
        {
            return Ok(draft);
        }
        let mut parameters = parameters;
        // The conversation is data here, with which the model must not search.
        parameters.web = WebTools::default();
        if parameters
            .about
            .thinking
            .is_some_and(|it| it != ThinkingKind::None)
        {
            parameters.thinking = Some(Thinking::Level(ThinkingLevel::Low));
            parameters.effort = None;
        }
        let mut words = size.words;
        let mut problem = Problem::new(
            "The model wrote no summary that is shorter than the messages.",
            "Run :Flemma compact again with what it should keep, or use another model.",
        );
        for attempt in 1..=TRIES {
            let prompt = size
                .prompt(&weighed, &replaced, words, &self.wishes)
                .await?;
            let to = Destination::Server(endpoint.clone(), parameters.clone());
            let mut answer = self.answer(to, prompt, meters).await?;
            words /= 2;
            let is_last = attempt == TRIES;
            let mut is_cut = false;
            match answer.end {
                WrittenEnd::Complete => {}
                // Otherwise a model that writes up to every limit could never summarize a chat. Files,
                // tasks, and rules that the text does not reach are listed below it.
                WrittenEnd::Limited(_) if is_last && !answer.text.trim().is_empty() => {
                    answer.text = format!("{} …", answer.text.trim_end());
                    is_cut = true;
                }
                WrittenEnd::Limited(limited) => {
                    problem = limited;
                    continue;
                }
                WrittenEnd::Failed(failed) => return Err(failed.into()),
            }
            // The answer may be a call.
            if answer.text.trim().is_empty() {
                let fix = "Run :Flemma compact again, or use another model.";
                return Err(Problem::new("The model wrote no summary.", fix).into());
            }
            let document = weighed.document();
            let completed = summary::completed(&document, &replaced, &answer.text);
            if self.is_worth_it(&weighed, &replaced, &completed) {
                return Ok(Draft {
                    summary: Summary::new(&document, replaced, completed, now()),
                    written: None,
                    is_cut,
                });
            }
        }
        Err(problem.into())
    }

    /// Returns the messages that the provider can summarize itself; `None` if it cannot, as far as that
    /// is known.
    fn provider_range(
        &self,
        weighed: &Weighed,
        replaced: &Range<usize>,
        (endpoint, parameters): (&Endpoint, &Parameters),
    ) -> Option<Range<usize>> {
        if !takes_signed(endpoint, parameters) {
            return None;
        }
        let document = weighed.document();
        let range = summary::replaced_by_provider(&document, replaced)?;
        // What a server tool found may be cited below the summary, or its use may be answered there.
        if weighed.has_exact(&document, &endpoint.provider) {
            return None;
        }
        // Its request has to fit, unlike ours, which is cut.
        let bytes = summary::bytes(&document, &weighed.own, &range);
        let tokens = self.tokens.unwrap_or_default() as f64;
        let tokens = tokens.max(bytes as f64 / BYTES_PER_TOKEN);
        let limit = parameters.about.context.unwrap_or(UNKNOWN_CONTEXT) as f64;
        (tokens < limit * LARGEST).then_some(range)
    }

    /// Has the provider summarize messages itself. Returns `None` if it writes no summary, or one that
    /// does not help.
    async fn written(
        &self,
        weighed: &Arc<Weighed>,
        range: Range<usize>,
        words: usize,
        (endpoint, parameters): (&Endpoint, &Parameters),
        meters: &mut Vec<Meter>,
    ) -> Result<Option<Draft>, NoDraft> {
        let (of, end) = (weighed.clone(), range.end);
        let prompt = spawn_blocking(move || of.prompt_until(end)).await;
        let prompt = prompt.map_err(|error| not_requested(&error))?;
        let basis = sent::basis(&prompt, &parameters.web);
        let wishes = &self.wishes;
        let instructions = summary::instructions(&weighed.document(), &range, words, wishes);
        let parameters = Parameters {
            summarize: Some(instructions),
            signed_summary: weighed.signed.clone(),
            ..parameters.clone()
        };
        let to = Destination::Server(endpoint.clone(), Box::new(parameters));
        // Our own request is shorter and has neither thinking nor files, so it may still succeed.
        let Ok(answer) = self.answer(to, prompt, meters).await else {
            return Ok(None);
        };
        let Some(summary) = answer.summary else {
            // A gateway that passes the request on without what it does not know.
            if !answer.text.trim().is_empty() {
                transport::note_missing(endpoint, Feature::Compaction);
                let remark = Feature::Compaction.missing(endpoint);
                self.inbox.deliver(WorkInput::Remark(remark));
            }
            return Ok(None);
        };
        if !self.is_worth_it(weighed, &range, &summary.content) {
            return Ok(None);
        }
        let content = summary.content.clone();
        Ok(Some(Draft {
            summary: Summary::new(&weighed.document(), range, content, now()),
            written: Some(WrittenSummary {
                summary,
                basis,
                is_above_signed: weighed.signed.is_some(),
            }),
            is_cut: false,
        }))
    }

    /// Returns true if a summary saves enough: of the messages that it replaces, and of the request if no
    /// user decides about it.
    fn is_worth_it(&self, weighed: &Weighed, replaced: &Range<usize>, text: &str) -> bool {
        let document = weighed.document();
        let before = summary::bytes(&document, &weighed.own, replaced);
        let saved = before.saturating_sub(text.len());
        let least = match self.tokens.filter(|_| self.sends) {
            Some(tokens) => tokens as f64 * BYTES_PER_TOKEN,
            None => before as f64,
        };
        saved as f64 >= least * LEAST_SAVED
    }

    /// Returns an answer, whose tokens a new meter counts.
    ///
    /// # Errors
    ///
    /// There is none, or it was cut off.
    async fn answer(
        &self,
        to: Destination,
        prompt: Prompt,
        meters: &mut Vec<Meter>,
    ) -> Result<Wrote, Problem> {
        meters.push(Meter::of(tariff(&to)));
        let (events, mut batches) = mpsc::unbounded_channel();
        let note = Box::new(|_| ());
        let models = self.finder.models.clone();
        let sending = models.answer(to, prompt, events, note, self.cancel.clone());
        let reading = async {
            let (mut answer, mut wrote) = (AnswerBuilder::default(), Wrote::default());
            while let Some(batch) = batches.recv().await {
                for event in batch {
                    match &event {
                        StreamEvent::Text(more) => wrote.text.push_str(more),
                        StreamEvent::TextWasThinking => wrote.text.clear(),
                        StreamEvent::Summary(summary) => wrote.summary = Some(summary.clone()),
                        StreamEvent::Usage(usage) => {
                            meters.last_mut().into_iter().for_each(|it| it.read(*usage));
                        }
                        StreamEvent::Paused => {
                            meters.last_mut().into_iter().for_each(Meter::pause);
                        }
                        _ => {}
                    }
                    let has_ended = matches!(event, StreamEvent::Stop(_));
                    let again = |it: Problem| Problem::new(it.what, "Run :Flemma compact again.");
                    match answer.take(event) {
                        Some(AnswerEvent::Complete(_)) => return Ok(wrote),
                        Some(AnswerEvent::Limited(problem)) => {
                            wrote.end = WrittenEnd::Limited(again(problem));
                            return Ok(wrote);
                        }
                        Some(AnswerEvent::Failed(problem)) if has_ended => {
                            wrote.end = WrittenEnd::Failed(again(problem));
                            return Ok(wrote);
                        }
                        Some(AnswerEvent::Failed(problem)) => return Err(again(problem)),
                        Some(AnswerEvent::Remark(text)) => {
                            self.inbox.deliver(WorkInput::Remark(text));
                        }
                        Some(AnswerEvent::Call(_) | AnswerEvent::TextWasThinking(_)) | None => {}
                    }
                }
            }
            Err(Problem::new("The answer with the summary was cut off.", ""))
        };
        tokio::pin!(reading);
        tokio::select! {
            text = &mut reading => text,
            () = sending => reading.await,
        }
    }
}

/// What the model wrote.
#[derive(Default)]
struct Wrote {
    text: String,
    /// The summary that was asked for as such.
    summary: Option<SignedSummary>,
    end: WrittenEnd,
}

/// How what the model wrote ended.
#[derive(Default)]
enum WrittenEnd {
    #[default]
    Complete,
    /// At the limit of its length.
    Limited(Problem),
    /// It does not count.
    Failed(Problem),
}

/// Returns true if the server writes and takes signed summaries, as far as it is known.
pub(super) fn takes_signed(endpoint: &Endpoint, parameters: &Parameters) -> bool {
    provider::takes_compaction(endpoint, parameters)
        && !transport::is_missing(endpoint, Feature::Compaction)
}

fn not_requested(error: &JoinError) -> Problem {
    Problem::new(format!("The summary was not requested: {error}."), "")
}

/// The sizes of a summary and of its request.
struct Size {
    /// Bytes of the last messages that are kept.
    kept: usize,
    /// Bytes of the conversation in the request.
    asked: usize,
    words: usize,
}

impl Size {
    /// Returns them for a context of so many tokens.
    fn of(context: Option<u64>) -> Self {
        let context = context.unwrap_or(UNKNOWN_CONTEXT) as f64;
        let bytes = |share: f64| (context * share * BYTES_PER_TOKEN) as usize;
        // A word of English has about 1.3 tokens.
        let words = (context * WRITTEN / 1.3).clamp(WORDS.0, WORDS.1);
        Self {
            kept: bytes(KEPT),
            asked: bytes(ASKED),
            words: words as usize,
        }
    }

    async fn prompt(
        &self,
        weighed: &Arc<Weighed>,
        replaced: &Range<usize>,
        words: usize,
        wishes: &str,
    ) -> Result<Prompt, Problem> {
        let (weighed, replaced) = (weighed.clone(), replaced.clone());
        let (asked, wishes) = (self.asked, wishes.to_owned());
        let prompt = spawn_blocking(move || {
            let (document, own) = (weighed.document(), &weighed.own);
            summary::request(&document, own, &replaced, asked, words, &wishes)
        });
        prompt.await.map_err(|error| not_requested(&error))
    }
}

/// Returns the summaries whose comment the user typed in this session, by their message.
pub(super) fn typed_summaries(ctx: &Ctx) -> HashSet<usize> {
    let document = ctx.buffer.document();
    let comments = summary::comments(&document);
    let typed = comments.filter(|(_, lines)| ctx.cycle.are_typed(document.text(), lines.clone()));
    typed.map(|(at, _)| at).collect()
}

/// The summaries of a chat, by the lines of their comments.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SummaryMarks {
    /// The summary that the next request begins with, and the number of messages that it replaces.
    current: Option<(usize, usize)>,
    /// Summaries below it, which do not count.
    others: Vec<usize>,
}

impl SummaryMarks {
    /// Finds them; `first` is the message of the one that counts, or 0.
    pub(super) fn find(document: &Document<'_>, first: usize) -> Self {
        let mut found = Self::default();
        for (at, lines) in summary::comments(document) {
            // Nothing is above the first message.
            if at > first {
                found.others.push(lines.start);
            } else if at == first {
                found.current = Some((lines.start, replaced_count(document, first)));
            }
        }
        found
    }

    /// Returns true if one of these lines is the comment of a summary, or the marker above it.
    pub(super) fn are_at(&self, lines: &Lines) -> bool {
        let current = self.current.iter().map(|(line, _)| line);
        let mut all = current.chain(&self.others);
        all.any(|line| lines.start <= *line && *line <= lines.end)
    }

    /// Follows a change of the text: `count` lines replaced `lines`.
    pub(super) fn follow_change(&mut self, lines: &Lines, count: usize) {
        let current = self.current.iter_mut().map(|(line, _)| line);
        for line in current.chain(&mut self.others) {
            *line = moved(*line, lines, count);
        }
    }

    pub(super) fn current(&self) -> Option<(usize, usize)> {
        self.current
    }

    /// Returns a remark at each summary.
    pub(super) fn remarks(&self) -> impl Iterator<Item = DiagnosticItem> {
        let remark = |line: usize, severity, message: String| DiagnosticItem {
            line,
            end_line: line + 1,
            message,
            severity,
            fix: None,
        };
        let current = self.current.map(|(line, count)| {
            let messages = if count == 1 { "message" } else { "messages" };
            let message = format!(
                "The {count} {messages} above are not sent; this summary is sent instead. Delete it to send them again."
            );
            remark(line, "info", message)
        });
        let others = self.others.iter().map(move |line| {
            let message = "This summary does not count, because it came with the file or was pasted: the messages above it \
                           are sent, too. Type this line again to use it.";
            remark(*line, "warning", message.to_owned())
        });
        current.into_iter().chain(others)
    }
}

fn replaced_count(document: &Document<'_>, first: usize) -> usize {
    let above = document.messages[..first].iter();
    above.filter(|it| it.role != Role::System).count()
}

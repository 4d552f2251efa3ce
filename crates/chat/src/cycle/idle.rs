//! Decides what happens when no call runs: move the cursor, wait, or send. Starts no calls.
//!
//! A model that repeats the same failing call stops autopilot.

use serde_json::Value;

use super::{AutopilotRun, AutopilotStop, Batch, Cycle, Effect, Goal, Options, Start, classify};
use crate::approval::CallKey;
use crate::document::{Block, Document, Message, PairedCall, Role, Status, Turn};
use crate::tool::MALFORMED_CALL;
use crate::write::{self, TextEdit};
use crate::{json, outcome, prompt};

/// Returns true if the last two answers both have an unreadable call. The model has already
/// seen the error once, so sending it again could loop forever.
pub(super) fn is_malformed_again(document: &Document<'_>) -> bool {
    let answers = document.messages.iter().rev();
    let mut answers = answers.filter(|it| it.role == Role::Assistant);
    let is_malformed =
        |block: &Block| matches!(block, Block::ToolUse(call) if *call.name == *MALFORMED_CALL);
    let has_one = |message: Option<&Message>| {
        message.is_some_and(|it| document.blocks_of(it).iter().any(is_malformed))
    };
    has_one(answers.next()) && has_one(answers.next())
}

/// The notice for [`is_malformed_again`].
pub(super) fn malformed_again(document: &Document<'_>) -> Option<Effect> {
    is_malformed_again(document).then(|| {
        Effect::warn(
            "The model wrote an unreadable call for the second time, so the error is not sent automatically. Press Ctrl-] \
             to send the error, or write what it should do.",
        )
    })
}

/// Warns about calls without a result when the user sends anyway.
pub(super) fn unanswered(document: &Document<'_>) -> Option<Effect> {
    let turns = document.unanswered_turns();
    let calls: Vec<String> = turns
        .flat_map(|turn| turn.calls)
        .filter(|call| !call.is_answered())
        .map(|call| format!("\"{}\"", call.tool_use.id))
        .collect();
    (!calls.is_empty()).then(|| {
        Effect::warn(format!(
            "No result for {}: the model gets an error instead.",
            calls.join(", ")
        ))
    })
}

impl Cycle {
    /// Moves the cursor to the first pending call, or to the result of a reviewed one.
    pub(super) fn show(&mut self, document: &Document<'_>, options: &Options) -> Option<Effect> {
        let busy = !self.running.is_empty() || !self.queue.is_empty();
        let batch = self.batch.as_mut()?;
        if !batch.reviewed
            && let Some(line) = first_pending(document)
        {
            // Once per batch, so that the cursor does not jump back while the user works.
            batch.reviewed = true;
            return Some(Effect::Cursor {
                line,
                insert: false,
                asked: batch.start != Start::Other,
            });
        }
        let shown = batch.shown.take()?;
        // If the conversation is sent anyway, the cursor follows the answer.
        if busy || batch.reviewed || options.autopilot && batch.may_send {
            return None;
        }
        cursor_for(document, &shown, options)
    }

    /// Waits for the user or sends, now that nothing runs.
    pub(super) fn when_idle(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        let Some(batch) = self.batch.take() else {
            return Vec::new();
        };
        // Calls without a result need the user's decision.
        if document.unanswered_turns().next().is_some() {
            return self.tell_waiting(batch, document).into_iter().collect();
        }
        // The key found nothing else to do, so it means "send".
        if !batch.worked {
            // The user sends, so the count of requests starts anew.
            self.run = AutopilotRun::default();
            return self.send(document, options);
        }
        if !(options.autopilot || batch.steered) || !batch.may_send {
            return Vec::new();
        }
        // The user is typing, so sending would cut the message off.
        if super::text_below_calls(document) != batch.words {
            return vec![Effect::inform(
                "The text you typed meanwhile is not sent automatically. Press Ctrl-] to send it.",
            )];
        }
        // A steering message may break the loop, so send it.
        if !batch.steered
            && let Some(tool) = repeated_failure(document, self.run.turns)
        {
            // Reported in the status, and cleared by the next batch.
            self.stopped = Some(AutopilotStop::Loop);
            return self.stop(stuck_message(&tool), document);
        }
        self.send(document, options)
    }

    /// Tells the user what waits, if the key did nothing else.
    fn tell_waiting(&self, batch: Batch, document: &Document<'_>) -> Option<Effect> {
        let calls = self.waiting_calls(document);
        let words = batch.words;
        let is_silent = batch.start == Start::Advance && !batch.worked;
        (is_silent && !calls.is_empty()).then_some(Effect::TellWaiting { calls, words })
    }

    /// Sends the conversation if it ends with the user and a turn is left.
    pub(super) fn send(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        let ends = prompt::ends(document);
        // Only a conversation that ends with the model can take a follow-up.
        if ends.is_none_or(|(_, last)| last == prompt::PromptRole::Assistant) {
            let follow_up = self.next_words(document, options);
            if let Some(effects) = follow_up {
                return effects;
            }
        }
        if ends.is_some_and(|(first, _)| first == prompt::PromptRole::Assistant) {
            return vec![Effect::warn(
                "The conversation begins with \"@Assistant:\", which models refuse. Put a \"@You:\" message before it.",
            )];
        }
        match ends.map(|(_, last)| last) {
            None => {
                return vec![Effect::warn(
                    "There is nothing to send. Write your message below \"@You:\".",
                )];
            }
            Some(prompt::PromptRole::Assistant) => return self.after_assistant(document),
            Some(prompt::PromptRole::User | prompt::PromptRole::System) => {}
        }
        let limit = self.run.limit(options);
        self.stopped = self.stopped.filter(|why| *why != AutopilotStop::Limit);
        if let Some(why) = limit {
            self.stopped = Some(AutopilotStop::Limit);
            return self.stop(
                format!("Autopilot stopped {why}. Press Ctrl-] to continue."),
                document,
            );
        }
        self.run.turns += 1;
        self.request = true;
        self.sent_words = super::text_below_calls(document);
        vec![Effect::Send]
    }

    /// Stops autopilot with a notice, and moves queued messages into the prompt.
    fn stop(&mut self, why: String, document: &Document<'_>) -> Vec<Effect> {
        let mut effects = vec![Effect::warn(why)];
        self.messages.put_back(Vec::new());
        effects.extend(self.say(document));
        effects
    }

    /// Handles a conversation that ends with the model. Continues an answer that was cut
    /// off, in a visible message. After a complete one, offers a prompt.
    fn after_assistant(&mut self, document: &Document<'_>) -> Vec<Effect> {
        let last = document
            .messages
            .iter()
            .rev()
            .find(|message| message.role == Role::Assistant);
        let aborted = last.is_some_and(|it| {
            document
                .blocks_of(it)
                .iter()
                .any(|block| matches!(block, Block::Aborted(_)))
        });
        if !aborted {
            let mut effects = fresh_prompt(document);
            effects.push(Effect::warn(
                "There is nothing new to send. Write your message below \"@You:\".",
            ));
            return effects;
        }
        // The batch sends the message as soon as the edit is applied.
        self.begin(Goal::All, None, Start::Other);
        vec![Effect::Edit(vec![write_continue(document)])]
    }
}

fn write_continue(document: &Document<'_>) -> TextEdit {
    let words = "Your answer was cut off. Continue from where it ends.";
    // The model may have stopped above an empty prompt, which takes the message.
    match document
        .messages
        .last()
        .filter(|last| last.role == Role::You)
    {
        Some(last) => {
            let at = last.lines.start + 1;
            TextEdit {
                lines: at..at,
                replacement: vec![words.to_owned()],
            }
        }
        None => write::append_message(document, Role::You, &[words]),
    }
}

impl AutopilotRun {
    /// Returns which limit another request would exceed, if any.
    fn limit(self, options: &Options) -> Option<String> {
        let is_spent = options.max_cost.is_some_and(|most| self.cost >= most);
        if self.turns >= options.max_turns {
            let turns = self.turns;
            Some(format!(
                "after {turns} requests in a row (tools.autopilot.max_turns)"
            ))
        } else if is_spent {
            let cost = self.cost;
            Some(format!(
                "because its requests cost ${cost:.2} (tools.autopilot.max_cost)"
            ))
        } else {
            None
        }
    }
}

/// Returns an empty `@You:` at the end, in Insert mode, unless there is one.
pub(super) fn fresh_prompt(document: &Document<'_>) -> Vec<Effect> {
    match document.messages.last() {
        Some(last) if last.role == Role::You => {
            vec![Effect::Cursor {
                line: document.text().line_count() - 1,
                insert: true,
                asked: false,
            }]
        }
        _ => {
            let edit = write::append_message(document, Role::You, &[""]);
            let line = edit.lines.start + edit.replacement.len() - 1;
            vec![
                Effect::Edit(vec![edit]),
                Effect::Cursor {
                    line,
                    insert: true,
                    asked: false,
                },
            ]
        }
    }
}

fn first_pending(document: &Document<'_>) -> Option<usize> {
    document.unanswered_turns().find_map(|turn| {
        let pending = turn
            .calls
            .iter()
            .find(|call| call.status() == Some(Status::Pending))?;
        Some(pending.result?.lines.start)
    })
}

fn cursor_for(document: &Document<'_>, shown: &CallKey, options: &Options) -> Option<Effect> {
    use super::CursorAfterResult::{Next, Result, Stay};
    let (turn_answers, result) = document.turns().rev().find_map(|turn| {
        let call = turn
            .calls
            .iter()
            .find(|call| call.tool_use.id == shown.id)?;
        Some((turn.answers?, call.result?.lines.start))
    })?;
    let line = match options.cursor_after_result {
        Stay => return None,
        Result => result,
        // The message may reach to the end of the text.
        Next => document.messages[turn_answers]
            .lines
            .end
            .min(document.text().line_count() - 1),
    };
    Some(Effect::Cursor {
        line,
        insert: false,
        asked: true,
    })
}

/// Number of requests with the same failing call after which autopilot stops.
const MOST_FAILURES: usize = 3;

/// Number of recent requests compared; more than [`MOST_FAILURES`], so that a model
/// alternating between failing calls is detected.
const WINDOW: usize = 12;

/// A call and its result, without the ID and the label, which differ each time.
#[derive(PartialEq)]
struct Attempt {
    name: String,
    input: String,
    result: String,
    failed: bool,
}

impl Attempt {
    fn of(document: &Document<'_>, call: &PairedCall<'_>) -> Option<Self> {
        let result = call.result?;
        if !call.is_answered() {
            return None;
        }
        let (key, input) = classify::read(document, call.tool_use);
        let input = match input {
            Some(Value::Object(mut input)) => {
                // The label is for the user and differs between calls that are otherwise
                // the same.
                input.remove("label");
                json::canonical(&Value::Object(input))
            }
            _ => key.input,
        };
        Some(Self {
            name: key.name,
            input,
            result: document.content(result.body.clone()).into_owned(),
            failed: outcome::outcome(document, call.tool_use, result, None, None).failed,
        })
    }
}

/// Returns the notice that autopilot stopped at a loop.
fn stuck_message(tool: &str) -> String {
    format!(
        "Autopilot stopped: the same call of {tool} failed with the same error in 3 requests. Write what \
         the model should do instead, or press Ctrl-] to send the error again."
    )
}

/// Returns the tool whose call kept failing in the same way while no other call made
/// progress. `turns` is the number of requests since the user last sent one.
fn repeated_failure(document: &Document<'_>, turns: u32) -> Option<String> {
    // Not beyond this run: the user has seen the earlier requests.
    let most = WINDOW.min(usize::try_from(turns).unwrap_or(WINDOW));
    let mut rounds: Vec<Vec<Attempt>> = Vec::new();
    for turn in document.turns().rev().take(most) {
        if is_answered_in_words(document, &turn) {
            break;
        }
        let calls = turn.calls.iter();
        let round: Vec<Attempt> = calls.filter_map(|it| Attempt::of(document, it)).collect();
        // Fast path: the last round had no failure.
        if rounds.is_empty() && !round.iter().any(|it| it.failed) {
            return None;
        }
        rounds.push(round);
    }
    // A success that repeats an earlier one brings nothing new, so it does not count as progress.
    let holds = |attempt: &Attempt| rounds.iter().filter(|it| it.contains(attempt)).count();
    let is_progress = |attempt: &Attempt| !attempt.failed && holds(attempt) == 1;
    let end = rounds.iter().position(|it| it.iter().any(is_progress));
    let without_progress = rounds.get(..end.unwrap_or(rounds.len()))?;
    let again = |attempt: &&Attempt| {
        let failures = without_progress.iter().filter(|it| it.contains(attempt));
        attempt.failed && failures.count() >= MOST_FAILURES
    };
    without_progress
        .first()?
        .iter()
        .find(again)
        .map(|it| it.name.clone())
}

/// Returns true if the user wrote text next to the results.
fn is_answered_in_words(document: &Document<'_>, turn: &Turn<'_>) -> bool {
    let answers = turn.answers.and_then(|at| document.messages.get(at));
    answers.is_some_and(|it| prompt::own_text(document, it).is_some())
}

//! Detects a model that repeats the same failing call, so that autopilot can stop.

use serde_json::Value;

use super::classify;
use crate::document::{Document, PairedCall, Turn};
use crate::json;
use crate::outcome;
use crate::prompt;

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
pub(super) fn message(tool: &str) -> String {
    format!(
        "Autopilot stopped: the same call of {tool} failed with the same error in 3 requests. Write what \
         the model should do instead, or press Ctrl-] to send the error again."
    )
}

/// Returns the tool whose call kept failing in the same way while no other call made
/// progress. `turns` is the number of requests since the user last sent one.
pub(super) fn repeated_failure(document: &Document<'_>, turns: u32) -> Option<String> {
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
    // A success that repeats an earlier one brings nothing new, so it is no progress.
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

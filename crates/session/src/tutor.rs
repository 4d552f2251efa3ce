//! The built-in provider `tutor`, which needs neither network nor key and explains
//! Flemma to new users.
//!
//! It is deterministic: its text depends on the conversation only. It says that it is not a
//! model, and its calls need the same approval and use the same tools as any model's. It
//! turns a [`chat::prompt::Prompt`] into [`provider::StreamEvent`]s, like every other
//! provider.

use std::time::Duration;

use chat::prompt::{Part, Prompt, PromptMessage, PromptRole};
use provider::{StopReason, StreamEvent, ToolUse};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The file that the tutor reads; `make demo` and `:Flemma tutor` put it beside
/// the chat.
pub const NOTES: &str = "notes.txt";
/// Pause between two words, so that the user sees the answer arrive.
const PACE: Duration = Duration::from_millis(12);

/// Ends an answer that waits for the user to go on.
const GO_ON: &str = "Next come edits, a review, an undo, and a rule: write \"go on\" below and press **Ctrl-]**. You can also \
                     stop here. To talk to a real model, set `ANTHROPIC_API_KEY` (or run llama.cpp or Ollama) and see \
                     `:help flemma`.";

/// How to decide about a call: first with plain keys, which every terminal sends.
const DECIDE: &str = "- press **Enter** to see all of it: in that window, **a** runs it and **r** rejects it,\n\
                      - or **Alt-Enter** to run it at once,\n\
                      - or **Alt-t** to try it first: it runs where it changes nothing, and you see what it would do,\n\
                      - or **Alt-r** to reject it with a reason.";

/// The chat that `:Flemma tutor` opens.
pub const FIRST_CHAT: [&str; 4] = [
    "@You:",
    "Hello! What can you do here?",
    "",
    "(Press Ctrl-] to send this.)",
];

/// The tutor's next answer: text, and a call if it makes one.
#[derive(Debug, PartialEq)]
struct Reply {
    text: String,
    call: Option<ToolUse>,
}

/// Streams the tutor's answer, a word at a time.
pub async fn send(
    prompt: Prompt,
    events: mpsc::UnboundedSender<Vec<StreamEvent>>,
    cancel: CancellationToken,
) {
    let reply = reply(&prompt);
    for word in reply.text.split_inclusive(' ') {
        if events
            .send(vec![StreamEvent::Text(word.to_owned())])
            .is_err()
        {
            // The session is gone, so nothing can read the rest.
            return;
        }
        tokio::select! {
            () = cancel.cancelled() => return,
            () = tokio::time::sleep(PACE) => {}
        }
    }
    let stop = if reply.call.is_some() {
        StopReason::ToolUse
    } else {
        StopReason::EndTurn
    };
    let last = reply
        .call
        .map(StreamEvent::ToolUse)
        .into_iter()
        .chain([StreamEvent::Stop(stop)]);
    drop(events.send(last.collect()));
}

/// Chooses the reply by the last event of the conversation.
fn reply(prompt: &Prompt) -> Reply {
    // The tutor keeps no state, so that it follows an undo.
    let last_results: Vec<&Part> = match prompt.messages.last() {
        Some(last) => last
            .parts
            .iter()
            .filter(|part| matches!(part, Part::ToolResult { .. }))
            .collect(),
        None => Vec::new(),
    };
    match last_results.last() {
        Some(Part::ToolResult {
            name,
            content,
            is_error,
            ..
        }) => match (name.as_str(), is_error) {
            ("read", false) => after_read(prompt, content),
            ("read", true) => after_failed_read(prompt, content),
            ("edit", _) if edits(prompt) < 2 => after_edit(content, *is_error),
            ("edit", _) => after_review(prompt, content, *is_error),
            ("bash", _) if edits(prompt) > 1 => after_rule(content),
            ("bash", false) => after_command(content),
            ("bash", true) => after_refusal(content),
            _ => goodbye(),
        },
        _ if calls(prompt) == 0 => greeting(),
        // The user went on.
        _ => match edits(prompt) {
            0 => first_edit(prompt),
            1 => second_edit(prompt),
            _ => goodbye(),
        },
    }
}

/// Returns how many edits the tutor has made.
fn edits(prompt: &Prompt) -> usize {
    let parts = prompt.messages.iter().flat_map(|message| &message.parts);
    parts
        .filter(|part| matches!(part, Part::ToolUse { name, .. } if name == "edit"))
        .count()
}

/// Returns how many calls the tutor has made; the next call's id contains the number.
fn calls(prompt: &Prompt) -> usize {
    // Counted in the text, so that ids stay unique after an undo and in a reopened chat.
    let of = |message: &PromptMessage| {
        message
            .parts
            .iter()
            .filter(|part| matches!(part, Part::ToolUse { .. }))
            .count()
    };
    prompt
        .messages
        .iter()
        .filter(|message| message.role == PromptRole::Assistant)
        .map(of)
        .sum()
}

fn call(prompt: &Prompt, name: &str, input: &serde_json::Value) -> Option<ToolUse> {
    let number = calls(prompt) + 1;
    Some(ToolUse {
        id: format!("tutor_{number}"),
        name: name.to_owned(),
        input: input.to_string(),
    })
}

fn greeting() -> Reply {
    let text = format!(
        "Hello! I am the built-in tutor: a fixed script inside Flemma, not a language model, and nothing leaves this \
         machine. The tools are real, though.\n\nThis file is the whole conversation. I will now call a tool: \
         `read`, on the file `{NOTES}` beside this chat. The default preset (`$default`) approves reading, so the \
         call runs without asking, and its result appears below."
    );
    // All fields are given, as a strict schema of a provider would have it.
    let input =
        json!({"label": "looking at the notes", "path": NOTES, "offset": null, "limit": null});
    let call = Some(ToolUse {
        id: "tutor_1".to_owned(),
        name: "read".to_owned(),
        input: input.to_string(),
    });
    Reply { text, call }
}

fn after_read(prompt: &Prompt, content: &str) -> Reply {
    let lines = content.lines().count();
    let first = content.lines().next().unwrap_or_default();
    let text = format!(
        "I read {lines} lines; the first one says: \"{first}\"\n\nNow I call something that could do harm: a shell \
         command. Such a call needs your approval. The cursor moves to the pending call, and the line below it shows \
         what would run. You can:\n\n{DECIDE}\n\nTry any; undo (`u`) brings you back."
    );
    Reply {
        text,
        call: ask_for_command(prompt),
    }
}

fn after_failed_read(prompt: &Prompt, content: &str) -> Reply {
    let text = format!(
        "That did not work, and I got the reason: \"{}\" A failed call is a result like any other, so we continue.\n\n\
         Now I call a shell command, which needs your approval. On the pending call, you can:\n\n{DECIDE}",
        content.lines().next().unwrap_or_default()
    );
    Reply {
        text,
        call: ask_for_command(prompt),
    }
}

fn ask_for_command(prompt: &Prompt) -> Option<ToolUse> {
    let command = format!("wc -w {NOTES}");
    call(
        prompt,
        "bash",
        &json!({"label": "counting the words of the notes", "command": command, "timeout": null}),
    )
}

fn after_command(content: &str) -> Reply {
    let text = format!(
        "The command ran, and I got its output: `{}`. Because autopilot is on, the result was sent to me \
         automatically.\n\n{GO_ON}",
        content.lines().next().unwrap_or_default().trim()
    );
    Reply { text, call: None }
}

fn after_refusal(content: &str) -> Reply {
    let text = format!(
        "Understood: the command did not run. I got your text as the call's error: \"{}\"\n\nA model would now try \
         another way.\n\n{GO_ON}",
        content.trim()
    );
    Reply { text, call: None }
}

/// An edit that the default rules approve.
fn first_edit(prompt: &Prompt) -> Reply {
    let old = "its call appears in the text, and you decide.";
    let keys = "\n\nSome keys:\n\nCtrl-]     sends, and continues\nEnter      opens a call or its diff\n\
                Alt-Enter  runs the call at the cursor\nAlt-r      rejects it, with a reason\ngd         goes to its result\n\
                ]m [m      go to messages\nCtrl-C     stops what runs";
    let text = format!(
        "Now I add a few keys to `{NOTES}`. The default preset approves `edit`, so this call runs without asking."
    );
    let input = json!({
        "label": "adding keys", "path": NOTES, "oldText": old, "newText": format!("{old}{keys}"), "edits": null
    });
    Reply {
        text,
        call: call(prompt, "edit", &input),
    }
}

fn after_edit(content: &str, is_error: bool) -> Reply {
    let what = if is_error {
        format!("The edit did not apply: \"{}\"", first_line(content))
    } else {
        "The edit ran. The line above the next prompt says what this run changed, with its diff. To open it, \
                  leave insert mode with **Esc** and press **Enter** in the empty prompt. There, `dih` removes a hunk, `:w` \
                  reverts what you removed, and `:q` leaves."
            .to_owned()
    };
    let text = format!(
        "{what}\n\nYou can also see each change before it happens: type `:Flemma review!`. Then write \"go on\" below and \
         press **Ctrl-]**."
    );
    Reply { text, call: None }
}

/// An edit with two hunks, for a review.
fn second_edit(prompt: &Prompt) -> Reply {
    let text = "This edit has two hunks. If it waits, press **Enter** on it: its diff opens as a buffer. Drop one hunk \
                with `dih`, and `:w` approves the other. I will read which one you dropped."
        .to_owned();
    let edits = json!([
        {"oldText": "A conversation is a file.", "newText": "A conversation is a file that you can edit."},
        {"oldText": "Ctrl-C     stops what runs", "newText": "Ctrl-C     stops the answer, or what runs"},
    ]);
    let input = json!({
        "label": "two changes to review", "path": NOTES, "oldText": null, "newText": null, "edits": edits
    });
    Reply {
        text,
        call: call(prompt, "edit", &input),
    }
}

fn after_review(prompt: &Prompt, content: &str, is_error: bool) -> Reply {
    let what = match is_error {
        true => format!("The edit was not applied: \"{}\"", first_line(content)),
        false if content.contains("dropped") => {
            "I read that you dropped a hunk; the other one is in the file.".to_owned()
        }
        false => "The edit is in the file.".to_owned(),
    };
    let text = format!(
        "{what} `:Flemma undo` reverts the changes of a call, including those of commands.\n\nThe last topic is rules. I call another \
         command: type `:Flemma allow` on it and choose what may run from now on; the rule runs this call, too. Or press \
         **Enter** and then **a** to run it once."
    );
    let command = format!("wc -l {NOTES}");
    let input = json!({"label": "counting the lines", "command": command, "timeout": null});
    Reply {
        text,
        call: call(prompt, "bash", &input),
    }
}

fn after_rule(content: &str) -> Reply {
    let text = format!(
        "I got: `{}`. Your rules are in a file that `:Flemma allow!` opens.\n\nThat was the tour: you write below a `@You:` \
         line and press **Ctrl-]**; calls run or ask by your rules; everything is in this file, and `u` undoes any step. \
         To talk to a real model, set `ANTHROPIC_API_KEY` (or run llama.cpp or Ollama) and see `:help flemma`.",
        first_line(content)
    );
    Reply { text, call: None }
}

fn first_line(content: &str) -> &str {
    content.trim().lines().next().unwrap_or_default()
}

fn goodbye() -> Reply {
    let text = "That is all I can show: I am a fixed script, not a model. Open a new chat (`:edit my.chat`), choose a \
                provider (`:help flemma-providers`), and press **Ctrl-]** there. `:Flemma tutor` starts me again."
        .to_owned();
    Reply { text, call: None }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use chat::document::Document;
    use chat::text::Text;

    fn answer_to(chat: &str) -> Reply {
        let text = Text::from(chat);
        reply(&chat::prompt::build(&Document::parse(&text), &[]))
    }

    const READ: &str = "@You:\nhi\n\n@Assistant:\n**Tool Use:** `read` (`tutor_1`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `tutor_1`";
    const BASH: &str = "@You:\nhi\n\n@Assistant:\n**Tool Use:** `bash` (`tutor_2`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `tutor_2`";

    #[test]
    fn the_tutor_reads_a_real_file_and_then_asks_for_a_command() {
        assert_eq!(answer_to("@You:\nhi").call.unwrap().name, "read");
        let next = answer_to(&format!("{READ}\n\n```\nfirst\nsecond\n```"));
        assert!(
            next.text.contains("2 lines") && next.text.contains("\"first\""),
            "{}",
            next.text
        );
        assert_eq!(next.call.unwrap().id, "tutor_2");
    }

    #[test]
    fn the_tutor_reacts_to_the_output_and_to_the_users_reason() {
        let ran = answer_to(&format!("{BASH}\n\n```\n3 notes.txt\n```"));
        assert!(ran.text.contains("`3 notes.txt`") && ran.call.is_none());
        let refused = answer_to(&format!("{BASH} (error)\n\n```\nNot today.\n```"));
        assert!(refused.text.contains("\"Not today.\"") && refused.call.is_none());
    }

    /// A chat in which the tutor made these calls, the last of which has this result.
    fn after(names: &[&str], result: &str) -> String {
        let calls = names.iter().enumerate().map(|(at, name)| {
            format!("@You:\ngo on\n\n@Assistant:\n**Tool Use:** `{name}` (`tutor_{at}`)\n\n```json\n{{}}\n```\n\n@You:\n**Tool Result:** `tutor_{at}`\n\n```\n{result}\n```\n\n@Assistant:\nWell.\n\n")
        });
        let all: String = calls.collect();
        all.trim_end_matches("@Assistant:\nWell.\n\n")
            .trim_end()
            .to_owned()
    }

    #[test]
    fn who_goes_on_sees_an_edit_a_review_an_undo_and_a_rule() {
        let go_on = |names: &[&str]| {
            answer_to(&format!(
                "{}\n\n@Assistant:\nWell.\n\n@You:\ngo on",
                after(names, "1")
            ))
        };
        let edit = go_on(&["read", "bash"]).call.unwrap();
        assert_eq!(edit.name, "edit");
        let told = answer_to(&after(&["read", "bash", "edit"], "Applied."));
        assert!(
            told.call.is_none() && told.text.contains(":Flemma review!"),
            "{}",
            told.text
        );
        let review = go_on(&["read", "bash", "edit"]).call.unwrap();
        assert!(review.name == "edit" && review.input.contains("two changes"));
        let dropped = answer_to(&after(
            &["read", "bash", "edit", "edit"],
            "hunk 1 of 2: dropped, not applied.",
        ));
        assert!(dropped.text.contains("dropped a hunk") && dropped.text.contains(":Flemma undo"));
        assert_eq!(dropped.call.unwrap().name, "bash");
        let end = answer_to(&after(
            &["read", "bash", "edit", "edit", "bash"],
            "13 notes.txt",
        ));
        assert!(end.call.is_none() && end.text.contains("`13 notes.txt`"));
        assert_eq!(go_on(&["read", "bash", "edit", "edit", "bash"]), goodbye());
    }
}

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

/// The chat that `:Flemma tutor` opens.
pub const FIRST_CHAT: [&str; 2] = ["@You:", "Hello! What can you do here?"];

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
            ("bash", false) => after_command(content),
            ("bash", true) => after_refusal(content),
            _ => goodbye(),
        },
        _ if calls(prompt) == 0 => greeting(),
        _ => goodbye(),
    }
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

fn call(prompt: &Prompt, name: &str, input: serde_json::Value) -> Option<ToolUse> {
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
         what would run. You can:\n\n- press **Alt-Enter** to run it,\n- or **Alt-r** to reject it with a \
         reason.\n\nTry either; undo (`u`) brings you back."
    );
    Reply {
        text,
        call: ask_for_command(prompt),
    }
}

fn after_failed_read(prompt: &Prompt, content: &str) -> Reply {
    let text = format!(
        "That did not work, and I got the reason: \"{}\" A failed call is a result like any other, so we continue.\n\n\
         Now I call a shell command, which needs your approval: press **Alt-Enter** on the pending call to run it, or \
         **Alt-r** to reject it with a reason.",
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
        json!({"label": "counting the words of the notes", "command": command, "timeout": null}),
    )
}

fn after_command(content: &str) -> Reply {
    let text = format!(
        "The command ran, and I got its output: `{}`. Because autopilot is on, the result was sent to me \
         automatically.\n\nThat is all: you write below a `@You:` line and press **Ctrl-]**; calls run or ask by your \
         rules; everything is in this file, and `u` undoes any step. To talk to a real model, set `ANTHROPIC_API_KEY` (or \
         run llama.cpp or Ollama) and see `:help flemma`.",
        content.lines().next().unwrap_or_default().trim()
    );
    Reply { text, call: None }
}

fn after_refusal(content: &str) -> Reply {
    let text = format!(
        "Understood: the command did not run. I got your text as the call's error: \"{}\"\n\nA model would now try \
         another way. I am only the tutor, so this is the end of the tour: you write below a `@You:` line and \
         press **Ctrl-]**; calls run or ask by your rules. To talk to a real model, set `ANTHROPIC_API_KEY` (or run \
         llama.cpp or Ollama) and see `:help flemma`.",
        content.trim()
    );
    Reply { text, call: None }
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

    #[test]
    fn the_tutor_ends() {
        let chat = format!("{BASH}\n\n```\n3\n```\n\n@Assistant:\nbye\n\n@You:\nand now?");
        assert_eq!(answer_to(&chat), goodbye());
    }
}

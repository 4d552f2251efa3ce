//! Work that needs more context than the model has: a run goes on with summaries of what was before.

use harness::{Answer, Editor, Provider, Strict};
use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::stage::*;

/// Work of a model that needs more than its context.
#[derive(Debug, Clone, Copy)]
struct Work {
    /// Tokens of the context.
    window: usize,
    /// Answers of the model to the task.
    turns: usize,
}

const LONG: Work = Work {
    window: 32_000,
    turns: 300,
};

/// The number in each of the files that the model reads, one after the other.
const NUMBERS: [usize; 7] = [3, 14, 15, 92, 65, 35, 89];

/// The last number that stands behind these words in a text.
fn last_number(text: &str, words: &str) -> Option<usize> {
    let (_, rest) = text.rsplit_once(words)?;
    let digits = rest.split(|it: char| !it.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// A model that adds the numbers of files, which it reads in as many turns. It remembers nothing: the
/// sum, the next file, and the word of the user must be in what it gets.
fn adder(Work { window, turns: all }: Work, body: &Json) -> Answer {
    let text = body.to_string();
    let tokens = text.len() / 4;
    if tokens > window {
        let message = format!("prompt is too long: {tokens} tokens > {window} maximum");
        let error = json!({"type": "invalid_request_error", "message": message});
        return Answer::status(400, json!({"type": "error", "error": error}).to_string());
    }
    let word = if text.contains("kestrel") {
        "kestrel"
    } else {
        "nothing"
    };
    let turns = last_number(&text, "Turn ").unwrap_or(0);
    let sum = last_number(&text, "the sum is ").unwrap_or(0);
    let answer = if text.contains("You summarize a conversation") {
        Answer::says(&format!(
            "The word is {word}. Turn {turns}: the sum is {sum}."
        ))
    } else {
        // The result of the call that the last turn made.
        let sum = sum
            + last_number(&text, "number: ")
                .filter(|_| turns > 0)
                .unwrap_or(0);
        if turns == all {
            Answer::says(&format!("The answer is {sum}, {word}."))
        } else {
            let path = format!("{}.txt", turns % NUMBERS.len());
            let input = json!({"path": path, "offset": null, "limit": null, "label": "reads"});
            let turns = turns + 1;
            Answer::new()
                .thinks("Next.")
                .text(&format!("Turn {turns}: the sum is {sum}."))
                .tool_use(&format!("toolu_{turns}"), "read", &input)
        }
    };
    answer.usage(tokens as u64, 50)
}

fn content(number: usize) -> String {
    format!("{}number: {number}.\n", "Some more text.\n".repeat(95))
}

const TASK: &str = "Add the numbers of the files. At the end, say the word kestrel.";

impl Work {
    fn answer(self) -> String {
        let sum: usize = (0..self.turns).map(|it| NUMBERS[it % NUMBERS.len()]).sum();
        format!("The answer is {sum}, kestrel.")
    }

    fn provider(self, service: Strict) -> Provider {
        let provider = Provider::anthropic([""; 0]).strict(service);
        provider.model(move |body| adder(self, body))
    }

    /// Fails unless the window was filled four times, and the service accepted every request.
    #[track_caller]
    fn expect_summaries(self, provider: &Provider, chat: &str) {
        assert_eq!(provider.refusals(), [""; 0]);
        let summaries = chat.matches("<!-- flemma:summary").count();
        assert!(summaries >= 4, "{summaries} summaries");
        assert_eq!(provider.requests().len(), self.turns + 1 + summaries);
        // Everything is still in the chat.
        for turn in 1..=self.turns {
            assert!(chat.contains(&format!("(`toolu_{turn}`)")), "turn {turn}");
        }
    }

    /// Does the work on the command line, with these facts about the model.
    #[track_caller]
    fn run(self, facts: &str) {
        // Thinking that is bound to what a summary replaces would be refused.
        let provider = self.provider(Strict::anthropic_without_dropping());
        let shell = Shell::new(&provider);
        shell.configure(&format!(
            "provider = \"anthropic\"\nmodel = \"claude-opus-5-5\"\n\
             [tools]\nrequire_approval = false\noffer = [\"read\"]\n\
             [models.claude-opus-5-5]\ncontext = {}\n{facts}",
            self.window
        ));
        for (at, number) in NUMBERS.into_iter().enumerate() {
            shell.write(&format!("{at}.txt"), &content(number));
        }
        let most = (self.turns + 1).to_string();
        let ran = shell.run(&[
            "send",
            "a.chat",
            "-m",
            TASK,
            "--max-turns",
            &most,
            "--compact-at",
            "80%",
            "--events",
            "jsonl",
        ]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let chat = shell.read("a.chat");
        assert!(
            chat.contains(&self.answer()),
            "{}",
            &chat[chat.len() - 2000..]
        );
        self.expect_summaries(&provider, &chat);
        let events = ran.out.matches("\"event\":\"summarized\"").count();
        assert_eq!(events, chat.matches("<!-- flemma:summary").count());
    }
}

#[test]
fn a_command_line_run_of_300_turns_fills_a_small_window_four_times() {
    LONG.run("");
}

#[test]
fn a_run_fills_a_window_of_8k_four_times_whoever_writes_the_summaries() {
    let work = Work {
        window: 8000,
        turns: 80,
    };
    work.run("");
    work.run("compaction = false\n");
}

#[test]
fn a_run_of_300_turns_in_neovim_fills_a_small_window_four_times() {
    let provider = LONG.provider(Strict::anthropic());
    let options = json!({
        "model": "claude-opus-5-5",
        "models": {"claude-opus-5-5": {"context": LONG.window}},
        "context": {"auto_compact": true},
        "tools": {"require_approval": false, "autopilot": {"max_turns": LONG.turns + 1}},
    });
    let mut setup = with_options(&provider, options);
    for (at, number) in NUMBERS.into_iter().enumerate() {
        setup = setup.file(&format!("{at}.txt"), &content(number));
    }
    let editor: Editor = setup
        .file("question.chat", &format!("@You:\n{TASK}\n"))
        .start();
    editor.keys("<C-]>");
    // In parts, each of which has its own time limit.
    for turns in (0..=LONG.turns).step_by(20) {
        provider.wait_requests(turns);
    }
    wait_end(&editor, &format!("{}\n\n@You:\n\n", LONG.answer()));
    LONG.expect_summaries(&provider, &editor.text());
}

#[test]
fn a_dry_run_asks_for_no_summary() {
    let provider = Provider::anthropic([Answer::says("Yes.").usage(30_000, 50)]);
    let shell = Shell::new(&provider);
    shell.configure("provider = \"anthropic\"\nmodel = \"m\"\n[models.m]\ncontext = 32000\n");
    let ran = shell.run(&["send", "a.chat", "-m", "Go."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = shell.run(&[
        "send",
        "a.chat",
        "-m",
        "More.",
        "--compact-at",
        "50%",
        "--dry-run",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn a_summary_that_the_user_edits_folds_what_it_replaces_and_undo_brings_it_back() {
    let drafts = ["The first draft.", "The second draft."].map(Answer::says);
    let provider = Provider::anthropic(drafts);
    let chat = format!(
        "@You:\nAn old question.\n{}\n@Assistant:\nAn old answer.\n\n@You:\n",
        "More of it.\n".repeat(30)
    );
    let editor = with_options(&provider, json!({}))
        .file("question.chat", &chat)
        .start();
    let shown = |editor: &Editor, text: &str| {
        editor.wait_screen(text, |rows| rows.iter().any(|it| it.contains(text)));
    };
    let fold_of = |line: usize| editor.lua("return vim.fn.foldclosed(...)", &json!([line]));
    // Left without a change, a draft is dropped.
    editor.keys(":Flemma compact<CR>");
    shown(&editor, "The first draft.");
    editor.keys(":q<CR>");
    editor.keys(":Flemma compact<CR>");
    shown(&editor, "The second draft.");
    editor.keys("GoMy own line.<Esc>");
    // Neovim refuses to drop what the user wrote.
    editor.keys(":q<CR>");
    shown(&editor, "E37");
    shown(&editor, "My own line.");
    editor.keys(":w<CR>");
    editor.wait_text("The second draft.\nMy own line.\n\n@You:\n");
    editor.wait_for("closed folds", |_| fold_of(1) == json!(1));
    wait_diagnostic(&editor, "The 2 messages above are not sent");
    editor.keys("u");
    editor.wait_for("the chat as before", |it| it.text() == chat);
    editor.keys("<C-r>");
    editor.wait_text("My own line.");
    provider.then(Answer::says("Fine."));
    editor.keys("GAGo on.<Esc><C-]>");
    wait_end(&editor, "Fine.\n\n@You:\n\n");
    let sent = provider.requests().pop().unwrap().body["messages"].to_string();
    assert!(
        sent.contains("My own line.") && !sent.contains("An old"),
        "{sent}"
    );
}

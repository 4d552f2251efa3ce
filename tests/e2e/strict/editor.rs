//! Chats in Neovim: commands that change a chat, at a service that refuses changed prefixes.

use harness::{Answer, Editor, Gate, Provider, Setup, Strict};
use serde_json::{Value as Json, json};

use super::{CLAUDE, edit, says};
use crate::stage::*;

/// An editor on an empty chat with one Claude model, at a service that refuses changed prefixes.
pub(super) struct Chat {
    pub(super) editor: Editor,
    pub(super) provider: Provider,
    pub(super) model: &'static str,
}

impl Chat {
    /// `prepare` adds files to the setup.
    fn open(model: &'static str, prepare: &impl Fn(Setup) -> Setup) -> Self {
        let service = Strict::anthropic_without_dropping();
        let provider = Provider::anthropic([""; 0]).strict(service);
        let options = json!({"model": model, "tools": {"require_approval": false}});
        let setup = prepare(with_options(&provider, options));
        let editor = setup.file("question.chat", "").start();
        watch(&editor);
        Self {
            editor,
            provider,
            model,
        }
    }

    /// Sends the first message, which is answered with `answer`.
    #[track_caller]
    pub(super) fn begin(&self, message: &str, answer: &str) {
        self.provider.then(says(answer));
        self.editor.paste(&format!("@You:\n{message}\n"));
        self.send(answer);
    }

    /// Types a message at the end and sends it.
    #[track_caller]
    pub(super) fn ask(&self, message: &str, answer: &str) {
        self.provider.then(says(answer));
        self.editor.keys(&format!("GA{message}<Esc>"));
        self.send(answer);
    }

    #[track_caller]
    pub(super) fn send(&self, answer: &str) {
        self.editor.keys("<C-]>");
        wait_end(&self.editor, &format!("{answer}\n\n@You:\n\n"));
    }

    pub(super) fn lua(&self, code: &str) {
        self.editor.lua(code, &json!([]));
    }

    /// Fails unless every request was accepted and the latest contains `thoughts` blocks of thinking.
    #[track_caller]
    pub(super) fn expect_kept(&self, thoughts: usize) {
        let model = self.model;
        assert_eq!(self.provider.refusals(), [""; 0], "{model}");
        assert_eq!(json!(self.provider.dropped()), json!([]), "{model}");
        let requests = self.provider.requests();
        let body = requests.last().unwrap().body.to_string();
        let sent = body.matches("\"type\":\"thinking\"").count();
        assert_eq!(sent, thoughts, "{model}: {body}");
    }
}

/// Plays a scenario with each Claude model.
#[track_caller]
pub(super) fn with_each_claude(prepare: impl Fn(Setup) -> Setup, scenario: impl Fn(&Chat)) {
    for model in CLAUDE {
        scenario(&Chat::open(model, &prepare));
    }
}

/// Undoes a run that edited a file, and starts another.
pub(super) fn undo_a_run(chat: &Chat, first: &str) {
    chat.begin(first, "One.");
    chat.provider.then(edit("toolu_1", "f.txt", "n=0", "n=1"));
    chat.ask("Count up.", "Two.");
    chat.editor.keys(":Flemma rewind<CR>");
    chat.editor.wait_screen("the messages", |rows| {
        rows.iter()
            .any(|row| row.starts_with("1: Count up.  (message 2)"))
    });
    chat.editor.keys("1<CR>");
    chat.editor.wait_screen("the files", |rows| {
        rows.iter().any(|row| row.contains("and cut"))
    });
    chat.editor.keys("1<CR>");
    chat.editor
        .wait_for("the cut", |it| it.text().trim_end().ends_with("Count up."));
    chat.provider.then(edit("toolu_2", "f.txt", "n=0", "n=2"));
    chat.provider.then(says("Three."));
    chat.editor.keys("/^Count up<CR>A By two.<Esc>");
    chat.send("Three.");
    chat.expect_kept(2);
}

#[test]
fn a_run_is_undone_and_another_follows() {
    with_each_claude(with_file, |chat| undo_a_run(chat, "Look at f.txt."));
}

/// A file that messages attach.
pub(super) fn with_file(setup: Setup) -> Setup {
    setup.with("f.txt", "n=0\n")
}

#[test]
fn a_fork_goes_on_with_its_thinking() {
    with_each_claude(with_file, |chat| {
        chat.begin("See @./f.txt", "One.");
        chat.ask("More.", "Two.");
        chat.editor.command("write");
        chat.editor.keys("/^More.<CR>:Flemma fork<CR>");
        chat.editor
            .wait_for("the fork", |it| it.text().ends_with("@You:\nMore.\n"));
        chat.provider.then(says("Three."));
        chat.editor.keys("GA Or less.<Esc>");
        chat.send("Three.");
        chat.expect_kept(1);
    });
}

#[test]
fn a_chat_is_opened_again() {
    with_each_claude(with_file, |chat| {
        chat.begin("See @./f.txt", "One.");
        chat.editor.command("write");
        chat.editor.command("bwipeout");
        chat.editor.command("edit question.chat");
        chat.ask("More.", "Two.");
        chat.expect_kept(1);
    });
}

#[test]
fn plan_mode_begins_and_ends() {
    with_each_claude(
        |setup| setup,
        |chat| {
            chat.begin("Go.", "One.");
            chat.editor.command("Flemma plan");
            chat.ask("Plan it.", "Two.");
            chat.editor.command("Flemma plan");
            chat.ask("Do it.", "Three.");
            chat.expect_kept(2);
        },
    );
}

#[test]
fn messages_are_steered_and_queued() {
    with_each_claude(
        |setup| setup,
        |chat| {
            let gate = Gate::new();
            let answer = Answer::new().thinks("Hm.").text("One,").gate(&gate);
            chat.provider.then(answer.text(" two."));
            chat.provider.then(says("Steered."));
            chat.provider.then(says("Queued."));
            chat.editor.paste("@You:\nGo.\n");
            chat.editor.keys("<C-]>");
            chat.editor.wait_text("One,");
            chat.editor.keys(":Flemma steer Shorter.<CR>");
            chat.editor.keys(":Flemma queue And then?<CR>");
            gate.open();
            wait_end(&chat.editor, "Queued.\n\n@You:\n\n");
            chat.expect_kept(2);
        },
    );
}

/// Steers a message while a call runs, during which a file changes.
pub(super) fn steer_between_calls(chat: &Chat, first: &str) {
    let wait = command("until [ -e go ]; do sleep 0.02; done");
    let call = Answer::new().thinks("I wait.");
    chat.provider.then(call.tool_use("toolu_1", "bash", &wait));
    chat.provider.then(says("Done."));
    chat.editor.paste(&format!("@You:\n{first}\n"));
    chat.editor.keys("<C-]>");
    chat.editor.wait_text("status=approved");
    chat.editor.keys(":Flemma steer Shorter.<CR>");
    std::fs::write(chat.editor.dir().join("f.txt"), "n=1\n").unwrap();
    std::fs::write(chat.editor.dir().join("go"), "").unwrap();
    wait_end(&chat.editor, "Done.\n\n@You:\n\n");
    chat.expect_kept(1);
    let body = chat.provider.requests()[1].body.to_string();
    assert!(body.contains("Shorter."), "{body}");
}

#[test]
fn a_message_is_steered_between_calls() {
    with_each_claude(with_file, |chat| {
        steer_between_calls(chat, "Look at f.txt.")
    });
}

#[test]
fn a_model_is_switched_and_switched_back() {
    with_each_claude(
        |setup| setup,
        |chat| {
            chat.begin("Go.", "One.");
            for (model, answer) in [("claude-opus-4-8", "Two."), (chat.model, "Three.")] {
                chat.editor
                    .command(&format!("Flemma switch anthropic {model}"));
                wait_message(&chat.editor, &format!("sent to anthropic ({model})"));
                chat.ask("More.", answer);
            }
            assert_eq!(chat.provider.refusals(), [""; 0], "{}", chat.model);
            // The other model did not see the first thinking; this one does.
            let dropped = chat.provider.dropped();
            let paths: Vec<&Json> = dropped.iter().map(|it| &it["path"]).collect();
            let paths = paths.iter().filter(|it| **it != "messages.1.content.0");
            assert_eq!(paths.count(), 0, "{}: {dropped:?}", chat.model);
        },
    );
}

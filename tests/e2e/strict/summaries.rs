//! Summaries that Anthropic writes and signs: while nothing changes, they are sent as they came, and the
//! thinking of the messages below stays valid. Otherwise they are text.

use std::fs;

use harness::{Answer, Editor, Provider, Strict};
use serde_json::{Value as Json, json};

use super::{Talk, says, signatures};
use crate::script_tools::write_tool;
use crate::shell::Ran;
use crate::stage::*;

/// The error for a conversation that is longer than it seemed.
const TOO_LONG: &str = r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}}"#;
const MODEL: &str = "claude-opus-5-5";
const SUMMARY: &str = "They talked for a long time.";
/// Name of the beta in a header.
const BETA: &str = "compact-2026-09-04";

/// An answer that makes the chat long.
fn long() -> Answer {
    says(&format!("{}The end.", "A long answer. ".repeat(6000)))
}

/// An answer after which the context is nearly full.
fn full(text: &str) -> Answer {
    says(text).usage(85_000, 50)
}

fn summary() -> Answer {
    Answer::says(SUMMARY).usage(85_000, 50)
}

/// A chat with two turns, the second short, that nearly fills the context of the model.
fn long_talk(service: Strict) -> Talk {
    begin(Provider::anthropic([""; 0]).strict(service))
}

fn begin(provider: Provider) -> Talk {
    begin_with(provider, MODEL, "", [long(), full("A short answer.")])
}

/// A chat with two turns, with these options below `[tools]`.
fn begin_with(provider: Provider, model: &'static str, tools: &str, answers: [Answer; 2]) -> Talk {
    let talk = Talk::new(provider, model);
    talk.configure(model, tools);
    talk.script(answers);
    talk.ask("First.");
    talk.ask("Second.");
    talk
}

/// The same, after the first turn was replaced by a summary, and a third turn below it.
fn summarized(service: Strict) -> Talk {
    let talk = long_talk(service);
    talk.script([summary(), says("Three.")]);
    talk.compact("Third.");
    talk
}

impl Talk {
    fn configure(&self, model: &str, tools: &str) {
        self.shell.configure(&format!(
            "provider = \"anthropic\"\nmodel = \"{model}\"\n[tools]\nrequire_approval = false\n{tools}\n\
             [models.{model}]\ncontext = 100000\n"
        ));
    }

    /// The requests for a summary as a model writes an answer.
    fn asked_as_answer(&self) -> Vec<Json> {
        let requests = self.provider.requests().into_iter();
        let bodies = requests.map(|it| it.body);
        let summarizes = "You summarize a conversation";
        bodies
            .filter(|it| it["system"].to_string().contains(summarizes))
            .collect()
    }

    /// Sends a message, after a summary if the context is nearly full.
    #[track_caller]
    fn compact(&self, message: &str) -> Ran {
        let sent = ["send", "a.chat", "-m", message, "--compact-at", "80%"];
        let ran = self.shell.run(&sent);
        assert_eq!(ran.code, Some(0), "{self:?}\n{ran:?}\n{}", self.chat());
        ran
    }

    /// Changes the chat file.
    #[track_caller]
    fn change(&self, old: &str, new: &str) {
        let chat = self.chat();
        assert!(chat.contains(old), "{chat}");
        self.shell.write("a.chat", &chat.replacen(old, new, 1));
    }

    /// The requests for a summary as Anthropic writes it.
    fn asked(&self) -> Vec<Json> {
        let requests = self.provider.requests().into_iter();
        let bodies = requests.map(|it| it.body);
        bodies.filter(|it| !it["compaction"].is_null()).collect()
    }

    /// Fails unless the last request begins with the summary as it came.
    #[track_caller]
    fn expect_signed(&self) {
        let requests = self.provider.requests();
        let last = requests.last().unwrap();
        let block = &last.body["messages"][0]["content"][0];
        assert_eq!(block["type"], "compaction", "{}", last.body);
        assert_eq!(block["content"], SUMMARY, "{}", last.body);
        let betas = last.header("anthropic-beta").unwrap_or_default();
        assert!(betas.contains(BETA), "{betas}");
        assert!(!last.body.to_string().contains("A long answer."));
    }

    /// Fails unless the last request begins with a text instead.
    #[track_caller]
    fn expect_text(&self, text: &str) {
        let requests = self.provider.requests();
        let last = requests.last().unwrap();
        let first = &last.body["messages"][0];
        assert_eq!(first["role"], "user", "{}", last.body);
        assert_eq!(first["content"][0]["text"], text, "{}", last.body);
        assert!(!last.body.to_string().contains("compaction"));
        let betas = last.header("anthropic-beta").unwrap_or_default();
        assert!(!betas.contains(BETA), "{betas}");
    }

    /// Fails unless all thinking below the summary and above the last answer was sent.
    #[track_caller]
    fn expect_thinking_below(&self) {
        assert_eq!(self.provider.refusals(), [""; 0]);
        assert_eq!(json!(self.provider.dropped()), json!([]));
        let chat = self.chat();
        let (_, below) = chat.rsplit_once("<!-- flemma:summary").unwrap();
        let (below, _) = below.rsplit_once("@Assistant:").unwrap();
        let last = self.last().to_string();
        let thoughts = signatures(below);
        assert!(!thoughts.is_empty());
        for thought in thoughts {
            assert!(last.contains(thought), "{last}");
        }
    }
}

#[test]
fn a_summary_that_nobody_changes_is_sent_as_it_came_and_the_thinking_below_it_stays_valid() {
    for service in [Strict::anthropic_without_dropping, Strict::anthropic] {
        let talk = summarized(service());
        talk.expect_signed();
        talk.expect_thinking_below();
        let asked = talk.asked();
        assert_eq!(asked.len(), 1);
        // Its request is the conversation as it stands, with what the summary must mention.
        let before = &talk.provider.requests()[1].body;
        assert_eq!(asked[0]["messages"][0]["content"][0]["text"], "First.");
        assert_eq!(asked[0]["messages"].as_array().unwrap().len(), 2);
        assert_eq!(asked[0]["tools"], before["tools"]);
        let instructions = asked[0]["compaction"]["instructions"].as_str().unwrap();
        assert!(instructions.starts_with("You summarize"), "{instructions}");
        // Also in another process.
        talk.script([says("Four.")]);
        talk.ask("Fourth.");
        talk.expect_signed();
        talk.expect_thinking_below();
    }
}

#[test]
fn a_summary_that_was_edited_is_sent_as_text_until_the_edit_is_undone() {
    let talk = summarized(Strict::anthropic());
    let before = talk.chat();
    talk.change(SUMMARY, "They talked, and I know more.");
    talk.script([says("Four.")]);
    let ran = talk.ask("Fourth.");
    talk.expect_text("They talked, and I know more.");
    assert!(ran.err.contains("bound to the messages"), "{ran:?}");
    assert_eq!(talk.provider.refusals(), [""; 0]);
    let dropped = talk.provider.dropped();
    talk.shell.write("a.chat", &before);
    talk.script([says("Four.")]);
    talk.ask("Fourth.");
    talk.expect_signed();
    assert_eq!(talk.provider.dropped(), dropped);
}

#[test]
fn a_summary_is_sent_as_text_with_another_system_prompt() {
    let talk = summarized(Strict::anthropic());
    let chat = talk.chat();
    talk.shell
        .write("a.chat", &format!("@System:\nBe brief.\n\n{chat}"));
    talk.script([says("Four.")]);
    talk.ask("Fourth.");
    talk.expect_text(SUMMARY);
    assert_eq!(talk.provider.refusals(), [""; 0]);
}

#[test]
fn a_summary_is_sent_as_text_with_other_web_tools() {
    let talk = summarized(Strict::anthropic());
    for tools in ["web = true", "web = \"search\"\nweb_max_uses = 2"] {
        talk.configure(MODEL, tools);
        talk.script([says("Four.")]);
        talk.ask("Fourth.");
        talk.expect_text(SUMMARY);
    }
    talk.configure(MODEL, "");
    talk.script([says("Five.")]);
    talk.ask("Fifth.");
    talk.expect_signed();
    assert_eq!(talk.provider.refusals(), [""; 0]);
}

#[test]
fn a_chat_with_searches_gets_our_own_request_which_offers_none() {
    let page = ("Neovim 0.12", "https://neovim.io/news/2026/");
    let searched = Answer::new()
        .searches("srvtoolu_1", "neovim", &[page])
        .cites("It is 0.12.", page.0, page.1)
        .usage(85_000, 50);
    for model in [MODEL, "claude-haiku-5-5"] {
        let provider = Provider::anthropic([""; 0]).strict(Strict::anthropic());
        let talk = begin_with(provider, model, "web = true", [long(), searched.clone()]);
        talk.script([summary(), says("Three.")]);
        talk.compact("Third.");
        assert!(talk.asked().is_empty());
        let own = talk.asked_as_answer();
        assert_eq!((own.len(), &own[0]["tools"]), (1, &Json::Null));
        assert_eq!(talk.provider.refusals(), [""; 0]);
        assert!(talk.last()["tools"].to_string().contains("web_search"));
    }
}

#[test]
fn instructions_below_a_summary_leave_it_as_it_came() {
    let talk = summarized(Strict::anthropic_without_dropping());
    let chat = talk.chat();
    talk.shell
        .write("a.chat", &format!("{chat}@System:\nBe brief.\n\n"));
    talk.script([says("Four.")]);
    talk.ask("Fourth.");
    talk.expect_signed();
    talk.expect_thinking_below();
    assert!(talk.last()["messages"].to_string().contains("Be brief."));
}

#[test]
fn tools_that_are_added_before_or_after_a_summary_leave_it_as_it_came() {
    let talk = long_talk(Strict::anthropic_without_dropping());
    let folder = talk.shell.home().join("config/flemma/tools");
    fs::create_dir_all(&folder).unwrap();
    // The catalogue is read anew by each process.
    write_tool(&folder, "early", "print('early')");
    talk.script([full("Three.")]);
    talk.ask("Third.");
    talk.script([summary(), says("Four.")]);
    talk.compact("Fourth.");
    talk.expect_signed();
    talk.expect_thinking_below();
    write_tool(&folder, "late", "print('late')");
    talk.script([says("Five.")]);
    talk.ask("Fifth.");
    talk.expect_signed();
    talk.expect_thinking_below();
}

#[test]
fn a_summary_of_a_summary_replaces_it() {
    let talk = summarized(Strict::anthropic_without_dropping());
    talk.script([long(), full("Five."), summary(), says("Six.")]);
    talk.ask("Fourth.");
    talk.ask("Fifth.");
    talk.compact("Sixth.");
    let asked = talk.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1]["messages"][0]["content"][0]["type"], "compaction");
    talk.expect_signed();
    talk.expect_thinking_below();
}

#[test]
fn a_server_that_refuses_the_header_gets_our_own_request() {
    let talk = summarized(Strict::anthropic_without_betas());
    assert!(talk.chat().contains(SUMMARY));
    assert_eq!(talk.asked_as_answer().len(), 1);
    talk.expect_text(SUMMARY);
}

#[test]
fn a_model_without_compaction_gets_our_own_request() {
    let provider = Provider::anthropic([""; 0]).strict(Strict::anthropic());
    let answers = [long(), full("A short answer.")];
    let talk = begin_with(provider, "claude-haiku-5-5", "", answers);
    talk.script([summary(), says("Three.")]);
    talk.compact("Third.");
    assert!(talk.asked().is_empty());
    assert_eq!(talk.provider.refusals(), [""; 0]);
    talk.expect_text(SUMMARY);
}

#[test]
fn a_provider_that_writes_no_summary_is_asked_for_one_as_an_answer() {
    for nothing in [
        Answer::new().stop("refusal"),
        Answer::new().stop("max_tokens"),
        Answer::new(),
        Answer::new().tool_use("toolu_9", "read", &json!({"path": "x"})),
        Answer::status(400, TOO_LONG),
        // More than before.
        Answer::says(&"Longer. ".repeat(20_000)),
    ] {
        let talk = long_talk(Strict::anthropic());
        talk.script([nothing, summary(), says("Three.")]);
        talk.compact("Third.");
        assert_eq!(talk.asked().len(), 1);
        assert_eq!(talk.provider.refusals(), [""; 0]);
        talk.expect_text(SUMMARY);
    }
}

#[test]
fn a_summary_whose_signature_is_refused_is_text() {
    let mut talk = begin(Provider::anthropic([""; 0]));
    talk.script([summary(), says("Three.")]);
    talk.compact("Third.");
    talk.expect_signed();
    // It did not sign this.
    talk.provider = talk.provider.strict(Strict::anthropic());
    talk.script([says("Four.")]);
    let ran = talk.ask("Fourth.");
    let refusals = talk.provider.refusals();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert!(refusals[0].contains("compaction_signature_invalid"));
    assert!(ran.err.contains("does not support compaction"), "{ran:?}");
    talk.expect_text(SUMMARY);
}

/// A chat in Neovim with a long turn and a short one.
fn editor() -> (Provider, Editor) {
    let provider = Provider::anthropic([long(), says("A short answer.")]).strict(
        // Thinking that is not valid would be refused.
        Strict::anthropic_without_dropping(),
    );
    let options = json!({"model": MODEL, "models": {MODEL: {"context": 100_000}}});
    let editor = with_options(&provider, options)
        .file("question.chat", "@You:\nFirst.\n")
        .start();
    editor.keys("<C-]>");
    wait_end(&editor, "The end.\n\n@You:\n\n");
    editor.keys("GASecond.<Esc><C-]>");
    wait_end(&editor, "A short answer.\n\n@You:\n\n");
    (provider, editor)
}

fn ask(provider: &Provider, editor: &Editor, message: &str, answer: &str) -> Json {
    provider.then(says(answer));
    editor.keys(&format!("GA{message}<Esc><C-]>"));
    wait_end(editor, &format!("{answer}\n\n@You:\n\n"));
    assert_eq!(provider.refusals(), [""; 0]);
    provider.requests().pop().unwrap().body
}

fn is_signed(body: &Json) -> bool {
    body["messages"][0]["content"][0]["type"] == "compaction"
}

#[test]
fn a_draft_that_is_written_as_it_came_is_sent_so_and_undo_brings_everything_back() {
    let (provider, editor) = editor();
    let before = editor.text();
    provider.then(Answer::says(SUMMARY));
    editor.keys(":Flemma compact<CR>");
    editor.wait_screen(SUMMARY, |rows| rows.iter().any(|it| it.contains(SUMMARY)));
    editor.keys(":w<CR>");
    editor.wait_text(&format!("{SUMMARY}\n\n@You:\nSecond."));
    editor.keys("u");
    editor.wait_for("the chat as before", |it| it.text() == before);
    let body = ask(&provider, &editor, "Third.", "Three.");
    assert!(body.to_string().contains("A long answer."), "{body}");
    assert_eq!(body.to_string().matches("\"signature\"").count(), 2);
}

#[test]
fn a_draft_that_is_edited_is_sent_as_text_without_the_thinking_below() {
    let (provider, editor) = editor();
    provider.then(Answer::says(SUMMARY));
    editor.keys(":Flemma compact<CR>");
    editor.wait_screen(SUMMARY, |rows| rows.iter().any(|it| it.contains(SUMMARY)));
    editor.keys("GoMy own line.<Esc>:w<CR>");
    editor.wait_text("My own line.\n\n@You:\nSecond.");
    let body = ask(&provider, &editor, "Third.", "Three.");
    assert!(!is_signed(&body) && !body.to_string().contains("\"signature\""));
}

#[test]
fn a_draft_that_is_written_as_it_came_keeps_the_thinking_below_until_it_is_deleted() {
    let (provider, editor) = editor();
    provider.then(Answer::says(SUMMARY));
    editor.keys(":Flemma compact<CR>");
    editor.wait_screen(SUMMARY, |rows| rows.iter().any(|it| it.contains(SUMMARY)));
    editor.keys(":w<CR>");
    editor.wait_text(&format!("{SUMMARY}\n\n@You:\nSecond."));
    let body = ask(&provider, &editor, "Third.", "Three.");
    assert!(is_signed(&body), "{body}");
    assert_eq!(body.to_string().matches("\"signature\"").count(), 2);
    // Its message, up to the next one.
    editor.keys("gg/flemma:summary<CR>kd5j");
    editor.wait_for("a chat without the summary", |it| {
        !it.text().contains(SUMMARY)
    });
    provider.then(says("Four."));
    editor.keys("GAFourth.<Esc><C-]>");
    // The thinking of the third answer is bound to the summary.
    wait_message(&editor, "bound to a different conversation");
    provider.then(says("Four."));
    editor.keys("<C-]>");
    wait_end(&editor, "Four.\n\n@You:\n\n");
    let body = provider.requests().pop().unwrap().body;
    assert!(body.to_string().contains("A long answer."), "{body}");
}

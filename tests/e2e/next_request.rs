//! What the next request contains, before it is sent: `:Flemma context` and `flemma context`.

use harness::{Answer, Editor, Provider, Strict};
use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::stage::*;

/// A provider with each protocol that has an endpoint for counting.
fn counting() -> [Provider; 3] {
    let none: [&str; 0] = [];
    [
        Provider::anthropic(none),
        Provider::responses(none),
        Provider::gemini(none),
    ]
    .map(|it| it.counting(4321))
}

#[test]
fn each_provider_counts_the_request_and_answers_none() {
    for provider in counting() {
        let shell = Shell::new(&provider);
        shell.configure(&format!("provider = \"{}\"", provider.name()));
        shell.write("f.txt", "content\n");
        let chat = "@System:\nBe brief.\n\n@You:\nRead @./f.txt\n";
        shell.write("question.chat", chat);
        let ran = shell.run(&["context", "question.chat", "--json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let report: Json = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(report["tokens"], 4321, "{ran:?}");
        assert_eq!(report["counted"], true);
        assert_eq!(report["provider"], provider.name());
        let parts = report["parts"].as_array().unwrap().iter();
        let kinds: Vec<_> = parts
            .map(|it| (it["kind"].clone(), it["line"].clone()))
            .collect();
        let expected = [
            (json!("tools"), Json::Null),
            (json!("system"), json!(1)),
            (json!("user"), json!(4)),
            (json!("reference"), json!(4)),
        ];
        assert_eq!(kinds, expected, "{ran:?}");
        // It was sent to be counted, and to no model. The chat is as it was.
        assert_eq!(provider.requests(), []);
        let counted = provider.counts().swap_remove(0).body.to_string();
        assert!(
            counted.contains("content") && counted.contains("Be brief."),
            "{counted}"
        );
        assert_eq!(shell.read("question.chat"), chat);
    }
}

#[test]
fn without_such_an_endpoint_the_tokens_are_estimated() {
    let none: [&str; 0] = [];
    for provider in [Provider::anthropic(none), Provider::chat_completions(none)] {
        let shell = Shell::new(&provider);
        shell.configure(&format!(
            "provider = \"{}\"\nmodel = \"m\"",
            provider.name()
        ));
        shell.write("question.chat", QUESTION);
        let ran = shell.run(&["context", "question.chat"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.starts_with("next request  about "), "{ran:?}");
        assert!(ran.out.contains("@You"), "{ran:?}");
        assert_eq!(provider.requests(), []);
    }
}

#[test]
fn what_cannot_be_read_or_sent_is_an_error_with_its_line() {
    let provider = Provider::anthropic([""; 0]);
    let shell = Shell::new(&provider);
    shell.write("question.chat", "@You:\nRead @./missing.txt\n");
    let ran = shell.run(&["context", "question.chat"]);
    assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{ran:?}");
    assert!(
        ran.err.contains("Line 2: ") && ran.err.contains("missing.txt"),
        "{ran:?}"
    );
    let ran = shell.run(&["context", "none.chat"]);
    assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{ran:?}");
    assert!(ran.err.contains("none.chat"), "{ran:?}");
    assert_eq!(provider.counts(), []);
}

#[test]
fn in_neovim_the_report_is_counted_and_leads_to_the_messages() {
    let answers = [Answer::says("Well.").usage(2000, 100)];
    let provider = Provider::anthropic(answers).counting(4321);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    editor.keys(":Flemma context<CR>");
    editor.wait_screen("the counted report", |rows| {
        let shows = |start: &str| rows.iter().any(|row| row.starts_with(start));
        shows("next request  4321 tokens, 0 % of 1.00M") && shows("sent before   about ")
    });
    editor.keys("G<CR>");
    wait_cursor(&editor, "@Assistant:");
    assert_eq!(provider.requests().len(), 1);
    // It is shown again in its window.
    let windows = |editor: &Editor| editor.lua("return #vim.api.nvim_list_wins()", &json!([]));
    let both = windows(&editor);
    editor.keys(":Flemma context<CR>");
    editor.wait_for("a second count", |_| provider.counts().len() == 2);
    editor.wait_for("the report", |editor| {
        editor.lua("return vim.fn.bufname()", &json!([])) == "flemma://context"
    });
    assert_eq!(windows(&editor), both);
    // Once it is closed, a count opens nothing.
    editor.keys("q");
    at_rest(&editor);
    assert_eq!((both, windows(&editor)), (json!(2), json!(1)));
}

#[test]
fn the_share_of_the_context_is_known_when_a_chat_is_opened_again() {
    let answer = Answer::says("Well.").usage(499_000, 1000);
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    let share = |editor: &Editor| {
        let code = "return (require('flemma.status').get() or {}).context or vim.NIL";
        editor.lua(code, &json!([]))
    };
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    editor.wait_for("the share", |editor| share(editor) == 50);
    editor.command("write | Flemma restart | edit!");
    // The new host has answered by then, so this is not what the old one said.
    at_rest(&editor);
    editor.wait_for("the share of an earlier host", |editor| share(editor) == 50);
}

#[test]
fn old_results_that_are_shortened_are_accepted_by_a_strict_service() {
    let read = |id: &str| {
        let read = Answer::new().thinks("I look.");
        read.tool_use(id, "read", &file("long.txt"))
    };
    let says = |text: &str| Answer::new().thinks("Well.").text(text);
    let answers = [
        read("t_1"),
        read("t_2"),
        says("One."),
        says("Two."),
        says("Three."),
    ];
    let provider = Provider::anthropic(answers).strict(Strict::anthropic());
    let options = json!({"tools": {"require_approval": false}});
    let long = "a line of the file\n".repeat(500);
    let setup = with_options(&provider, options).with("long.txt", &long);
    let editor = setup.size(80, 40).file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_end(&editor, "One.\n\n@You:\n\n");
    editor.keys("GiMore.<Esc><C-]>");
    wait_end(&editor, "Two.\n\n@You:\n\n");
    let before = editor.text();
    editor.keys(":Flemma shorten<CR>");
    editor.wait_screen("the question", |rows| {
        rows.iter()
            .any(|row| row.contains("Send 2 old results shortened?"))
    });
    editor.keys("1<CR>");
    editor.keys("zRgg");
    editor.wait_for("what is sent shortened", |editor| {
        let texts = editor.virtual_text().into_iter();
        texts
            .filter(|it| it.text.contains("sent shortened: "))
            .count()
            == 2
    });
    editor.keys("GiAgain.<Esc><C-]>");
    wait_end(&editor, "Three.\n\n@You:\n\n");
    assert_eq!(provider.refusals(), [""; 0]);
    let body = provider.requests().pop().unwrap().body.to_string();
    assert_eq!(
        body.matches("of this old result are left out").count(),
        2,
        "{body}"
    );
    // The chat has them whole.
    assert!(editor.text().starts_with(before.trim_end()));
}

#[test]
fn the_tutor_has_neither_a_cache_nor_a_price() {
    let editor = offline().start();
    editor.command("Flemma tutor");
    editor.wait_text("Hello!");
    editor.keys("<C-]>");
    editor.wait_text("status=pending");
    editor.command("Flemma context");
    editor.wait_screen("the report", |rows| {
        rows.iter()
            .any(|row| row.trim_end() == "to            tutor")
    });
    let screen = editor.screen().join("\n");
    assert!(!screen.contains("sent before"), "{screen}");
    assert!(!screen.contains("tokens, about $"), "{screen}");
}

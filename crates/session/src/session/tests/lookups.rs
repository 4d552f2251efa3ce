//! Questions about a place in the chat: outline, links, hovers, and offers.

use chat::links::Link;
use chat::movement::Stop;
use serde_json::json;

use super::script::{calls, echo, says};
use super::{EditorInput, Input, QUESTION, Stage, below};
use crate::protocol::*;

impl Stage {
    /// Asks about the line that contains `place`, at a byte column, and returns the answer.
    fn look_up(&self, kind: LookupKind, place: &str, column: usize) -> LookupAnswer {
        let seq = self.record().buffer.seq();
        self.look_up_at(seq, kind, place, column)
    }

    fn look_up_at(&self, seq: u64, kind: LookupKind, place: &str, column: usize) -> LookupAnswer {
        let line = self.text().lines().position(|it| it.contains(place));
        let line = line.unwrap();
        let number = self.record().looked_up.len() as u64 + 1;
        self.send(Input::Editor(EditorInput::Lookup(Lookup {
            lookup: number,
            buffer: super::BUFFER,
            seq,
            kind,
            line,
            column,
            last: line,
            count: 1,
        })));
        self.wait("an answer", |it| it.looked_up.len() as u64 == number);
        let (answered, answer) = self.record().looked_up.pop().unwrap();
        assert_eq!(answered, number);
        answer
    }

    fn offers(&self, place: &str) -> Vec<(String, &'static str)> {
        match self.look_up(LookupKind::Actions, place, 0) {
            LookupAnswer::Actions(offers) => offers
                .into_iter()
                .map(|it| (it.title, it.command))
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    fn hover(&self, place: &str, column: usize) -> Option<String> {
        match self.look_up(LookupKind::Hover, place, column) {
            LookupAnswer::Hover(hover) => Some(hover.text),
            LookupAnswer::Nothing => None,
            other => panic!("{other:?}"),
        }
    }
}

/// A chat in which one call waits.
fn one_waits() -> Stage {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")]), says("Well.")]);
    stage.press("advance");
    stage
}

#[test]
fn the_outline_lists_the_messages_of_the_current_text() {
    let stage = one_waits();
    let LookupAnswer::Symbols(symbols) = stage.look_up(LookupKind::Symbols, "Go.", 0) else {
        panic!("symbols")
    };
    let names: Vec<&str> = symbols.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names[0], "@You: Go.");
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(
        symbols[2].children[0].name.starts_with("pending"),
        "{symbols:?}"
    );
}

#[test]
fn the_folds_are_those_of_complete_messages_and_blocks() {
    let text = "@System: Be brief.\nVery.\n\n@You:\nGo.\n\n@Assistant:\nHi.\n<thinking>\nHm.\n</thinking>\n\n@You:\n";
    let stage = Stage::of(text);
    let LookupAnswer::Folds(folds) = stage.look_up(LookupKind::Folds, "Go.", 0) else {
        panic!("folds")
    };
    let folds = folds.iter();
    let folds: Vec<_> = folds.map(|it| (it.kind.name(), it.lines.clone())).collect();
    let expected = [
        ("system", 0..3),
        ("message", 3..6),
        ("message", 6..12),
        ("thinking", 8..11),
    ];
    assert_eq!(folds, expected);
}

#[test]
fn a_movement_goes_to_the_next_message_or_call_of_the_current_text() {
    let stage = one_waits();
    let line_of = |start: &str| stage.text().lines().position(|it| it.starts_with(start));
    for (stop, start) in [
        (Stop::Message, "@Assistant:"),
        (Stop::Call, "**Tool Use:**"),
    ] {
        let answer = stage.look_up(LookupKind::Move(stop), "Go.", 0);
        assert_eq!(answer, LookupAnswer::Line(line_of(start).unwrap()));
    }
    let LookupAnswer::Message(message) = stage.look_up(LookupKind::Select, "Go.", 0) else {
        panic!("a message")
    };
    assert_eq!((message.lines, message.text), (0..3, 1..2));
}

#[test]
fn a_question_about_an_older_text_has_no_answer() {
    let stage = one_waits();
    let answer = stage.look_up_at(0, LookupKind::Symbols, "Go.", 0);
    assert_eq!(answer, LookupAnswer::Nothing);
}

#[test]
fn a_pending_call_offers_its_decisions_and_says_what_it_would_do() {
    let stage = one_waits();
    let decisions = [
        ("Run this call".to_owned(), "resolve"),
        ("Reject this call".to_owned(), "reject"),
    ];
    assert_eq!(stage.offers("**Tool Use:**"), decisions);
    assert_eq!(stage.offers("**Tool Result:**"), decisions);
    assert_eq!(stage.offers("Go."), []);
    let hover = stage.hover("**Tool Use:**", 0).unwrap();
    assert!(
        hover.starts_with("echo") && hover.ends_with("(pending)"),
        "{hover}"
    );
    let LookupAnswer::Lenses(lenses) = stage.look_up(LookupKind::Lenses, "Go.", 0) else {
        panic!("lenses")
    };
    let titles: Vec<&str> = lenses.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["Run", "Reject"]);
}

#[test]
fn a_pending_change_of_a_file_can_be_reviewed() {
    let edit = r#"{"label":"tabs","path":"f.py","oldText":"a","newText":"b"}"#;
    let stage = Stage::of(&waiting("edit", edit));
    let commands: Vec<&str> = stage
        .offers("**Tool Result:**")
        .iter()
        .map(|it| it.1)
        .collect();
    assert_eq!(commands, ["resolve", "review", "reject"]);
    let LookupAnswer::Lenses(lenses) = stage.look_up(LookupKind::Lenses, "Go.", 0) else {
        panic!("lenses")
    };
    let titles: Vec<&str> = lenses.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["Run", "Review", "Reject"]);
}

#[test]
fn the_hover_has_a_long_command_whole() {
    let command = format!("echo {} && rm -rf build", "x".repeat(300));
    let stage = Stage::of(&waiting("bash", &format!(r#"{{"command":"{command}"}}"#)));
    let hover = stage.hover("**Tool Use:**", 0).unwrap();
    let (_, fields) = hover.split_once('\n').unwrap();
    let shown: String = fields.lines().map(|line| line.trim_start()).collect();
    let expected = format!("command  {command}(pending)");
    assert_eq!(shown, expected);
}

#[test]
fn a_call_whose_arguments_cannot_be_read_offers_their_repair() {
    let stage = Stage::of(&waiting("bash", r#"{"command":"ls","#));
    let offers = stage.offers("**Tool Use:**");
    let repair = ("Repair the JSON".to_owned(), "fix");
    assert!(offers.contains(&repair), "{offers:?}");
    stage.press_at("fix", "**Tool Use:**");
    stage.wait_text("\n{\"command\":\"ls\"}\n");
}

/// A chat whose call of a tool is pending.
fn waiting(tool: &str, input: &str) -> String {
    format!(
        "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `{tool}` (`t_1`)\n\n```json\n{input}\n```\n\n\
         @You:\n\n**Tool Result:** `t_1`\n\n```flemma:tool status=pending\n```\n"
    )
}

#[test]
fn a_problem_with_a_fix_offers_it() {
    let stage = one_waits();
    stage.changes("status=pending", "status=aproved", None);
    let offers = stage.offers("status=aproved");
    assert_eq!(offers[0], ("Write \"approved\"".to_owned(), "fix"));
}

#[test]
fn a_reference_leads_to_the_file_beside_the_chat() {
    let text = "@You:\nSee @./f.txt;type=text/plain.\n";
    let stage = Stage::beside(&[("f.txt", b"a\n")], json!({}), text);
    let path = stage.path("f.txt").to_string_lossy().into_owned();
    assert_eq!(
        stage.look_up(LookupKind::Link, "See", 6),
        LookupAnswer::Link(Link::File(path))
    );
    assert_eq!(
        stage.look_up(LookupKind::Link, "See", 0),
        LookupAnswer::Nothing
    );
}

#[test]
fn an_option_of_the_frontmatter_has_its_help() {
    let stage = Stage::of(&below("flemma.opt.thinking = 'low'"));
    let help = stage.hover("thinking", 12).unwrap();
    assert!(help.starts_with("parameters.thinking\n"), "{help}");
    assert!(help.contains("How much the model thinks"), "{help}");
    assert_eq!(stage.hover("Go.", 0), None);
}

/// The words that the text at the end of a line may become.
fn menu(stage: &Stage, line: &str) -> Vec<String> {
    match stage.look_up(LookupKind::Menu, line, line.len()) {
        LookupAnswer::Menu(menu) => menu.items.into_iter().map(|it| it.text).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn words_are_completed_by_where_they_are() {
    let text = "```lua\nflemma.opt.tools.\n```\n\n@You:\n@\n(@./two\n";
    let files: &[(&str, &[u8])] = &[("one.txt", b""), ("sub/two.txt", b"")];
    let stage = Stage::beside(files, json!({}), text);
    assert_eq!(menu(&stage, "(@./two"), ["@./sub/two.txt"]);
    let options = menu(&stage, "flemma.opt.tools.");
    assert!(
        options.contains(&"flemma.opt.tools.autopilot".to_owned()),
        "{options:?}"
    );
    let LookupAnswer::Menu(words) = stage.look_up(LookupKind::Menu, "@You:", 1) else {
        panic!("words")
    };
    assert!(words.items.iter().any(|it| it.text == "@You:"), "{words:?}");
}

//! What `:Flemma context` shows: the parts of the next request, estimated and counted.

use chat::prompt::Part;
use provider::{StreamEvent, Usage};
use serde_json::{Value, json};

use super::script::{Answer, calls, read, says};
use super::setup::{anthropic, below};
use super::{Display, QUESTION, Record, Stage};
use crate::protocol::{EditorQuestion, Prompted, Report};

/// An answer to a request of so many tokens.
fn counted(prompt: u64, output: u64, mut answer: Answer) -> Answer {
    answer.insert(
        0,
        StreamEvent::Usage(Usage {
            input: Some(prompt),
            output: Some(output),
            ..Usage::default()
        }),
    );
    answer
}

fn options() -> Value {
    // 2 and 10 dollars per million tokens, of which a prompt may have 10,000.
    let price = json!({"input": 2, "output": 10, "cache_read": 0.5});
    let model = json!({"context": 10_000, "price": price});
    anthropic(json!({"model": "mine", "models": {"mine": model}}))
}

/// The reports about the next request so far.
fn reports(record: &Record) -> Vec<Report> {
    let reports = record.shown.iter().filter_map(|it| match it {
        Display::Report(report) if report.title == "context" => Some(report.clone()),
        _ => None,
    });
    reports.collect()
}

impl Stage {
    /// Returns the lines of the next report, with single blanks.
    fn context(&self) -> Vec<String> {
        let before = reports(&self.record()).len();
        self.key("context")
            .wait("a report", |it| reports(it).len() > before);
        let report = reports(&self.record()).swap_remove(before);
        let lines = report.lines.iter();
        lines
            .map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }
}

/// The number in front of the words `what` in the only row with them.
fn before(lines: &[String], what: &str) -> u64 {
    let rows = lines.iter().filter_map(|it| it.split_once(what));
    let [(row, _)] = rows.collect::<Vec<_>>()[..] else {
        panic!("{what} in {lines:#?}");
    };
    let word = row.trim_end().rsplit(' ').next().unwrap();
    word.parse().unwrap()
}

#[test]
fn a_chat_that_was_not_sent_is_estimated_by_its_parts() {
    let system = "x".repeat(3750);
    let chat = format!("@System:\n{system}\n\n@You:\n{}\n", "y".repeat(375));
    let stage = Stage::with(options(), &chat);
    let lines = stage.context();
    let count = before(&lines, " tools");
    let all = 1100 + before(&lines, &format!("{count} tools"));
    let start = format!(
        "next request about {all} tokens, {} % of 10.0k, about $0.00",
        all / 100
    );
    assert!(lines[0].starts_with(&start), "{lines:#?}");
    assert_eq!(lines[1..4], ["to anthropic mine", "", "line tokens"]);
    assert_eq!(lines[5..], ["1 1000 @System", "4 100 @You"]);
    assert_eq!(reports(&stage.record())[0].places, [(5, 0), (6, 3)]);
}

#[test]
fn what_was_sent_is_measured_by_the_last_answer_and_read_from_the_cache() {
    let chat = format!("@You:\n{}\n", "y".repeat(3750));
    let answer = counted(3000, 500, says(&"z".repeat(3750)));
    let stage = Stage::with(options(), &chat).answers([answer]);
    stage.press("advance");
    let lines = stage.context();
    assert!(
        lines[0].starts_with("next request about 3500 tokens, 35 % of 10.0k"),
        "{lines:#?}"
    );
    // The answer was received, and is sent for the first time.
    let sent = before(&lines, ", which the provider's cache may still have");
    let new = before(&lines, ", from line 4 on");
    assert_eq!(sent + new, 3500, "{lines:#?}");
    let [user, answer] = ["@You", "@Assistant"].map(|it| before(&lines, it));
    assert_eq!((answer, user), (new, new), "{lines:#?}");
}

#[test]
fn an_edited_message_and_all_below_it_are_new() {
    let answers = ["One.", "Two."].map(|it| counted(300, 50, says(it)));
    let stage = Stage::with(options(), QUESTION).answers(answers);
    stage.press("advance").say("steer", "More.");
    stage.wait("the end", |it| it.text().ends_with("Two.\n\n@You:\n\n"));
    let line = |text: &str, lines: Vec<String>| {
        let found = lines.iter().find(|it| it.starts_with("new"));
        assert!(found.is_some_and(|it| it.ends_with(text)), "{lines:#?}");
    };
    let answer = stage.text().lines().position(|it| it == "Two.").unwrap();
    line(&format!("from line {answer} on"), stage.context());
    let first = stage.text().lines().position(|it| it == "One.").unwrap();
    stage.replaces(first..first + 1, &["Other.".to_owned()], Some(usize::MAX));
    line(&format!("from line {first} on"), stage.context());
}

#[test]
fn a_count_of_the_provider_replaces_the_estimate() {
    let stage = Stage::with(options(), QUESTION);
    stage.script.counts(1234);
    stage
        .key("context")
        .wait("both reports", |it| reports(it).len() == 2);
    let [estimated, counted] = <[Report; 2]>::try_from(reports(&stage.record())).unwrap();
    assert!(!estimated.is_update && counted.is_update);
    assert!(estimated.lines[0].starts_with("next request  about "));
    assert!(counted.lines[0].starts_with("next request  1234 tokens, 12 % of 10.0k"));
    assert_eq!(stage.script.requests(), 0);
}

#[test]
fn a_look_reads_references_and_records_nothing() {
    let files: [(&str, &[u8]); 1] = [("f.txt", &[b'a'; 3750])];
    let stage = Stage::beside(&files, options(), "@You:\nRead @./f.txt\n");
    assert!((1000..1010).contains(&before(&stage.context(), "@./f.txt")));
    // The request that is sent has what the file contains then.
    std::fs::write(stage.path("f.txt"), "b").unwrap();
    assert!((1..10).contains(&before(&stage.context(), "@./f.txt")));
}

#[test]
fn a_reference_that_cannot_be_sent_is_named_instead() {
    let stage = Stage::beside(&[], options(), "@You:\nRead @./missing.txt\n");
    stage.key("context").wait_notice("missing.txt");
    assert_eq!(reports(&stage.record()), []);
}

#[test]
fn thinking_of_another_provider_is_not_sent() {
    let thinks = |signer: &str| {
        let thinking = format!("<thinking {signer}:signature=\"abc\">\nHm.\n</thinking>");
        let chat = format!("@You:\nGo.\n\n@Assistant:\n{thinking}\n\nWell.\n\n@You:\nMore.\n");
        let lines = Stage::with(options(), &chat).context();
        lines.iter().any(|it| it.ends_with(" thinking"))
    };
    assert!(thinks("anthropic"));
    assert!(!thinks("openai"));
}

#[test]
fn a_broken_frontmatter_is_reported_instead() {
    let stage = Stage::with(options(), &below("flemma.opt.temperature ="));
    stage
        .key("context")
        .wait("the error", |it| !it.notices.is_empty());
    assert_eq!(reports(&stage.record()), []);
}

#[test]
fn without_a_key_the_parts_are_shown_and_why_nothing_can_be_sent() {
    let mut options = options();
    options["parameters"] = json!({});
    let lines = Stage::with(options, QUESTION).context();
    assert!(lines[1] == "to anthropic mine", "{lines:#?}");
    assert!(lines[2].contains("key"), "{lines:#?}");
}

/// A chat with three long results, of which the first is old.
fn with_results() -> String {
    let turn = |id: &str| {
        let output = format!("line of {id}\n").repeat(400);
        format!(
            "@Assistant:\n**Tool Use:** `read` (`{id}`)\n\n```json\n{{}}\n```\n\n\
             @You:\n**Tool Result:** `{id}`\n\n```\n{output}```\n\n"
        )
    };
    let turns: String = ["t_1", "t_2", "t_3"].map(turn).concat();
    format!("@You:\nGo.\n\n{turns}Go on.\n")
}

impl Stage {
    /// Gives a command, answers its question with yes, and returns the question.
    fn agrees_to(&self, name: &str) -> String {
        let (text, item) = (None, Some(0));
        self.record().prompted.push_back(Prompted { text, item });
        let before = self.record().asked.len();
        self.key(name)
            .wait("a question", |it| it.asked.len() > before);
        match self.record().asked.last() {
            Some(EditorQuestion::Prompt(prompt)) => prompt.title.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// The bytes of the results in the last request.
    fn results_sent(&self) -> Vec<usize> {
        let prompt = self.script.prompt();
        let parts = prompt.messages.into_iter().flat_map(|it| it.parts);
        let bytes = parts.filter_map(|it| match it {
            Part::ToolResult { content, .. } => Some(content.len()),
            _ => None,
        });
        bytes.collect()
    }

    /// Waits until the lines of results that are sent shortened are these.
    fn wait_shortened(&self, lines: &[usize]) {
        self.wait("what is sent shortened", |it| {
            let shown = it.shown.iter().rev().find_map(|it| match it {
                Display::Sent(sent) => Some(sent.items.clone()),
                _ => None,
            });
            let shown = shown.unwrap_or_default().into_iter();
            let shortened = shown.filter(|it| it.at.is_none());
            shortened.map(|it| it.line).eq(lines.iter().copied())
        });
    }
}

#[test]
fn old_results_are_sent_shortened_until_they_are_sent_whole_again() {
    let stage = Stage::with(options(), &with_results());
    let whole = "line of t_1\n".len() * 400 - 1;
    // The first request has them whole.
    stage.press("advance");
    assert_eq!(stage.results_sent(), [whole; 3]);
    let offer = stage.context().into_iter().find(|it| it.starts_with("old"));
    let offer = offer.unwrap();
    assert!(
        offer.starts_with("old results :Flemma shorten sends 2 results shortened"),
        "{offer}"
    );

    let question = stage.agrees_to("shorten");
    assert!(
        question.starts_with("Send 2 old results shortened? Each request is "),
        "{question}"
    );
    assert!(
        question.ends_with("cached tokens are paid again."),
        "{question}"
    );
    let text = stage.text();
    let line = |id: &str| {
        text.lines()
            .position(|it| it.contains(&format!("Result:** `{id}`")))
    };
    stage.wait_shortened(&[line("t_1").unwrap(), line("t_2").unwrap()]);
    // The chat has them whole, and what is above them counts as sent.
    assert_eq!(stage.text(), text);
    let lines = stage.context();
    assert!(!lines.iter().any(|it| it.starts_with("old")), "{lines:#?}");
    assert!(
        lines.iter().any(|it| it.ends_with(", from line 11 on")),
        "{lines:#?}"
    );

    // An edit above does not undo it.
    stage.replaces(1..2, &["Go now.".to_owned()], Some(usize::MAX));
    stage
        .say("steer", "More.")
        .wait("the end", |it| it.text().matches("Done.").count() == 2);
    let [first, second, third] = stage.results_sent()[..] else {
        panic!()
    };
    assert!(
        first < 400 && second < 400 && third == whole,
        "{first} {second} {third}"
    );

    let question = stage.agrees_to("shorten!");
    assert!(
        question.starts_with("Send all results whole again?"),
        "{question}"
    );
    stage.wait_shortened(&[]);
    let rests = stage.record().rests();
    stage
        .say("steer", "Again.")
        .wait("rest", |it| it.rests() > rests);
    assert_eq!(stage.results_sent(), [whole; 3]);
}

#[test]
fn what_the_model_reads_again_is_sent_whole() {
    let output = "the same line\n".repeat(400);
    let files: [(&str, &[u8]); 1] = [("f.txt", output.as_bytes())];
    let mut options = options();
    options["tools"] = json!({"require_approval": false});
    let read = |id: &'static str| calls([read(id, "f.txt")]);
    let stage = Stage::beside(&files, options, QUESTION).answers([
        read("t_1"),
        says("One."),
        says("Two."),
        read("t_2"),
        says("Three."),
    ]);
    stage.press("advance").say("steer", "More.");
    stage.wait("the end", |it| it.text().ends_with("Two.\n\n@You:\n\n"));
    stage.agrees_to("shorten");
    let line = stage
        .text()
        .lines()
        .position(|it| it.contains("Result:** `t_1`"));
    stage.wait_shortened(&[line.unwrap()]);
    stage.say("steer", "Read it again.");
    stage.wait("the end", |it| it.text().ends_with("Three.\n\n@You:\n\n"));
    let [first, second] = stage.results_sent()[..] else {
        panic!()
    };
    assert!(first < 500 && second > 5000, "{first} {second}");
    // Nor is it marked, or counted, as shortened.
    stage.wait_shortened(&[line.unwrap()]);
    let lines = stage.context();
    let results = lines.iter().filter(|it| it.ends_with("result of read"));
    let tokens: Vec<u64> = results
        .filter_map(|it| it.split(' ').next()?.parse().ok())
        .collect();
    assert!(tokens[0] * 5 < tokens[1], "{lines:#?}");
}

#[test]
fn without_long_old_results_there_is_nothing_to_shorten() {
    let stage = Stage::with(options(), QUESTION);
    stage
        .key("shorten")
        .wait_notice("No old result is long enough");
    stage
        .key("shorten!")
        .wait_notice("No result of this chat is sent shortened.");
}

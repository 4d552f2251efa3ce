//! Runs every file below `tests/cases`. `UPDATE_CASES=1` writes the actual output into the
//! files, to be reviewed before it is committed.

use std::fs;
use std::path::{Path, PathBuf};

use chat::approval::Decision;
use chat::cycle::CycleEvent;
use chat::document::Document;
use chat::prompt;
use chat::tool::ToolOutcome;
use chat::truncate::{Limit, Limits, Truncated, truncate_head_within, truncate_tail_within};
use serde_json::{Value, json};

use crate::case::{Case, decode};
use crate::dump;
use crate::play::Play;
use crate::properties::writing;

#[test]
fn every_case_gives_its_expectations() {
    let update = std::env::var_os("UPDATE_CASES").is_some();
    let mut failures = Vec::new();
    for group in folders() {
        let files = cases_in(&group);
        assert!(!files.is_empty(), "{} has no case", group.display());
        for file in files {
            if let Err(failure) = check(&file, update) {
                failures.push(format!("{}\n{failure}", file.display()));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let entries = fs::read_dir(root).expect("tests/cases is there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let folders: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    assert!(!folders.is_empty(), "tests/cases has no folder");
    folders
}

fn cases_in(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).expect("a folder of cases");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|it| it == "case"))
        .collect();
    files.sort();
    files
}

fn check(file: &Path, update: bool) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let case = Case::read(&text)?;
    if let Some(payload) = case.given("foreign") {
        writing::check(&String::from_utf8_lossy(&payload))?;
    }
    let played = play(&case)?;
    let actual = |section: &str| actual(&case, &played, section);
    if update {
        return fs::write(file, case.rewritten(actual)).map_err(|error| error.to_string());
    }
    let differences: Vec<String> = case
        .expected()
        .filter_map(|(section, expected)| difference(section, expected, &actual(section)))
        .collect();
    if differences.is_empty() {
        Ok(())
    } else {
        Err(differences.join("\n"))
    }
}

fn difference(section: &str, expected: &str, actual: &str) -> Option<String> {
    (expected != actual).then(|| {
        let diff = similar::TextDiff::from_lines(expected, actual);
        let diff = diff.unified_diff().header("expected", "actual").to_string();
        format!("--- {section}\n{diff}")
    })
}

fn actual(case: &Case, played: &Play, section: &str) -> String {
    let document = Document::parse(&played.text);
    let payload = || case.given("foreign").unwrap_or_default();
    match section {
        "document" => dump::document(&document),
        "diagnostics" => dump::diagnostics(&document),
        "effects" => played.log.join("\n"),
        "after" => played.string(),
        "request" => dump::request(&prompt::build(&document, &[])),
        _ => writing::written(&String::from_utf8_lossy(&payload())),
    }
}

/// Opens or types the input, and presses the keys.
fn play(case: &Case) -> Result<Play, String> {
    let input = case.given("input").unwrap_or_default();
    let keys = String::from_utf8(case.given("keys").unwrap_or_default()).expect("UTF-8");
    let mut keys = keys.lines().peekable();
    let opened = keys.next_if_eq(&"open").is_some();
    let mut play = Play::with_bytes(input.clone(), opened);
    let printed = Document::parse(&play.text).print();
    if printed != input {
        return Err("print(parse(bytes)) is not bytes".to_owned());
    }
    for key in keys {
        press(&mut play, key).map_err(|problem| format!("key {key:?}: {problem}"))?;
    }
    Ok(play)
}

fn press(play: &mut Play, key: &str) -> Result<(), String> {
    let (word, rest) = key.split_once(' ').unwrap_or((key, ""));
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    let plain = |text| String::from_utf8_lossy(&decode(text)).into_owned();
    match word {
        "advance" => play.event(CycleEvent::Advance),
        "send" => play.event(CycleEvent::Send),
        "cancel" => play.event(CycleEvent::Cancel),
        "resolve" => {
            let line = play.line_of(rest).ok_or("no such line")?;
            play.event(CycleEvent::Resolve { line });
        }
        "change" => {
            let (from, to) = rest.split_once(" => ").ok_or("change FROM => TO")?;
            play.change(&plain(from), &plain(to));
        }
        "call" => {
            let (id, input) = second.split_once(' ').ok_or("call NAME ID JSON")?;
            play.answer("", &[(first, id, input)]);
        }
        "answer" => play.answer(&plain(rest), &[]),
        "finish" => play.finish(first, second),
        "fail" => play.end(first, ToolOutcome::Failed(second.to_owned())),
        "autopilot" => play.options.autopilot = rest == "on",
        "approve" => play.decide_always(Decision::Approve),
        "deny" => play.decide_always(Decision::Deny),
        _ => return Err("no such key".to_owned()),
    }
    Ok(())
}

// The truncation cases shared with Lua: `tests/cases/truncate.json`.

const CASES: &str = include_str!("../../../../tests/cases/truncate.json");

fn common(kept: &Truncated<'_>) -> Value {
    let by = kept.truncated_by.map(|by| match by {
        Limit::Lines => "lines",
        Limit::Bytes => "bytes",
    });
    json!({"content": kept.content, "truncated_by": by, "output_lines": kept.output_lines})
}

#[test]
fn head_and_tail_match_the_cases() {
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    for case in cases {
        let number = |name: &str| usize::try_from(case[name].as_u64().unwrap()).unwrap();
        let limits = Limits {
            lines: number("max_lines"),
            bytes: number("max_bytes"),
        };
        let text = case["text"].as_str().unwrap();
        let head = truncate_head_within(text, limits);
        let tail = truncate_tail_within(text, limits);
        let mut said = [common(&head), common(&tail)];
        said[0]["first_line_exceeds_limit"] = json!(head.first_line_exceeds_limit);
        said[1]["last_line_partial"] = json!(tail.last_line_partial);
        assert_eq!(said, [case["head"].clone(), case["tail"].clone()], "{case}");
        let totals = (number("total_lines"), number("total_bytes"));
        assert_eq!((head.total_lines, head.total_bytes), totals, "{case}");
    }
}

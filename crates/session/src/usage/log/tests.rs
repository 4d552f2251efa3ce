#![allow(clippy::unwrap_used)]

use std::fs;

use provider::Usage;
use serde_json::json;

use super::*;
use crate::usage::Tariff;

/// Noon of 2026-05-04 in UTC.
const NOON: u64 = 1_777_896_000_000;
const DAY: u64 = 86_400_000;

fn request(model: &str, folder: &Path, input: u64, ended: u64) -> RequestUsage {
    let price = provider::catalogue::model("anthropic", model, None).price;
    RequestUsage {
        buffer: 1,
        path: Some(folder.join("a.chat")),
        folder: folder.to_owned(),
        tariff: Tariff {
            provider: "anthropic".to_owned(),
            model: model.to_owned(),
            price,
            ..Tariff::default()
        },
        usages: vec![Usage {
            input: Some(input),
            output: Some(100),
            ..Usage::default()
        }],
        time: (ended - 2000, ended),
    }
}

/// The day, model, and project tables, as names with numbers of requests.
fn names(rows: &[UsageRow]) -> Vec<(&str, u64)> {
    let rows = rows.iter();
    rows.map(|row| (row.name.as_str(), row.sums.requests))
        .collect()
}

#[test]
fn requests_are_summed_per_day_model_and_project() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().canonicalize().unwrap().join("work");
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::create_dir_all(project.join("src")).unwrap();
    let log = UsageLog::open(&folder.path().join("state"));
    let other = folder.path().canonicalize().unwrap();
    for it in [
        request("claude-sonnet-4-5", &project.join("src"), 1000, NOON - DAY),
        request("claude-sonnet-4-5", &project, 1000, NOON),
        request("unheard-of", &other, 5, NOON),
    ] {
        log.add(&it).unwrap();
    }
    let read = log.read_since(NOON - 2 * DAY).unwrap();
    assert_eq!(read.records[0].took_ms, 2000);
    let report = UsageReport::of(7, &read.records, read.problems);
    assert_eq!(
        names(&report.by_day),
        [("2026-05-04", 2), ("2026-05-03", 1)]
    );
    let models = [
        ("anthropic claude-sonnet-4-5", 2),
        ("anthropic unheard-of", 1),
    ];
    assert_eq!(names(&report.by_model), models);
    let projects = [(project.to_str().unwrap(), 2), (other.to_str().unwrap(), 1)];
    assert_eq!(names(&report.by_project), projects);
    assert_eq!(
        (report.total.sums.input, report.total.sums.unpriced),
        (2005, 1)
    );
    assert_eq!(report.total.cost, report.by_model[0].cost);
    assert_eq!(report.by_model[1].cost, None);
}

#[test]
fn records_before_the_first_day_are_not_counted() {
    let folder = tempfile::tempdir().unwrap();
    let log = UsageLog::open(folder.path());
    log.add(&request("m", folder.path(), 1, NOON)).unwrap();
    assert_eq!(log.read_since(NOON).unwrap().records.len(), 1);
    assert_eq!(log.read_since(NOON + 1).unwrap().records.len(), 0);
}

#[test]
fn damaged_lines_are_counted_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let log = UsageLog::open(folder.path());
    let file = folder.path().join("usage.jsonl");
    fs::write(
        &file,
        "{\"time\": 1, \"requests\": 1, \"new\": true}\n{\"time\"\n\n[]\n{\"time\": 2",
    )
    .unwrap();
    log.add(&request("m", folder.path(), 1, NOON)).unwrap();
    let read = log.read_since(0).unwrap();
    let times: Vec<u64> = read.records.iter().map(|it| it.time).collect();
    assert_eq!(times, [1, NOON]);
    let path = file.display();
    let problem =
        format!("3 lines of {path} are damaged and are not counted; the first is line 2.");
    assert_eq!(read.problems, [problem]);
}

#[test]
fn a_full_file_is_kept_and_a_new_one_started() {
    let folder = tempfile::tempdir().unwrap();
    let log = UsageLog {
        folder: folder.path().to_owned(),
        max_bytes: 1,
    };
    for number in 0..7 {
        log.add(&request("m", folder.path(), number, NOON)).unwrap();
    }
    let read = log.read_since(0).unwrap();
    let inputs: Vec<u64> = read.records.iter().map(|it| it.sums.input).collect();
    assert_eq!(inputs, [2, 3, 4, 5, 6]);
}

#[test]
fn a_report_has_aligned_columns() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("/{}/project", "long".repeat(20));
    let mut record = UsageRecord::of(&request(
        "claude-sonnet-4-5",
        folder.path(),
        1_234_567,
        NOON,
    ));
    record.project = long;
    record.model.push('\n');
    let lines = lines(&UsageReport::of(
        1,
        &[record],
        vec!["A line is damaged.".to_owned()],
    ));
    assert_eq!(lines[..2], ["A line is damaged.", "Today (UTC)"]);
    let rows: Vec<&String> = lines.iter().filter(|it| it.contains("1.23M")).collect();
    assert_eq!(rows.len(), 4);
    assert!(
        lines.iter().all(|it| it.chars().count() <= 80),
        "{lines:#?}"
    );
    let widths: Vec<usize> = rows.iter().map(|it| it.chars().count()).collect();
    assert!(widths.iter().all(|it| *it == widths[0]), "{lines:#?}");
    assert!(
        rows[2].starts_with("…ong") && rows[2].contains("/project  "),
        "{lines:#?}"
    );
    assert!(lines.iter().all(|it| !it.contains('\n')));
}

#[test]
fn without_requests_a_report_says_so() {
    let report = UsageReport::of(7, &[], Vec::new());
    assert_eq!(lines(&report), ["The last 7 days: no requests."]);
    assert_eq!(json!(report)["by_day"], json!([]));
}

//! Sums of the usage log per day, model, and project, as a table and as JSON.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chat::preview::one_line;
use serde::Serialize;
use tools::state_dir;

use super::{UsageLog, UsageRecord};
use crate::audit::date;
use crate::usage::{Sums, count};

/// Number of days that are shown by default.
pub const USUAL_DAYS: u32 = 30;
const DAY: Duration = Duration::from_secs(86_400);
/// Maximum columns of a name, so that a table fits into 80. A long path is cut at its beginning.
const MAX_NAME: usize = 32;
/// Explanation of the headings.
const LEGEND: &str =
    "Tokens: \"cached\" were read from a cache, and \"stored\" were written into one.";
/// Columns of a number.
const NUMBER: usize = 8;

/// The sums of some requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageRow {
    /// The day, the provider with its model, or the project.
    pub name: String,
    /// Dollars, if any prices are known.
    pub cost: Option<f64>,
    /// The sums.
    #[serde(flatten)]
    pub sums: Sums,
}

/// The usage of some days.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageReport {
    /// Number of days, today included.
    pub days: u32,
    /// All requests.
    pub total: UsageRow,
    /// By day in UTC, the newest first.
    pub by_day: Vec<UsageRow>,
    /// By provider and model, the most expensive first.
    pub by_model: Vec<UsageRow>,
    /// By project, the most expensive first.
    pub by_project: Vec<UsageRow>,
    /// Parts of the log that the sums lack.
    pub problems: Vec<String>,
}

impl UsageReport {
    /// Reads the usage of the last days, today included.
    ///
    /// # Errors
    ///
    /// The log exists and cannot be read.
    pub fn read(log: &UsageLog, days: Option<u32>) -> io::Result<Self> {
        let days = days.unwrap_or(USUAL_DAYS).max(1);
        let now = SystemTime::now();
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        // Days in UTC, because the log has no time zones and the user may travel.
        let today = Duration::from_secs(now.as_secs() / DAY.as_secs() * DAY.as_secs());
        let first = today.saturating_sub(DAY * (days - 1));
        let since = u64::try_from(first.as_millis()).unwrap_or(u64::MAX);
        let read = log.read_since(since)?;
        Ok(Self::of(days, &read.records, read.problems))
    }

    /// Returns the sums of these records.
    pub(super) fn of(days: u32, records: &[UsageRecord], problems: Vec<String>) -> Self {
        // The first 10 characters of a date are the day.
        let day = |it: &UsageRecord| date(it.time).chars().take(10).collect();
        let mut by_day = grouped(records, day);
        by_day.reverse();
        // A provider may choose its model itself, which leaves the name empty.
        let model = |it: &UsageRecord| format!("{} {}", it.provider, it.model).trim().to_owned();
        Self {
            days,
            total: UsageRow::of("all".to_owned(), records),
            by_day,
            by_model: by_cost(grouped(records, model)),
            by_project: by_cost(grouped(records, |it| it.project.clone())),
            problems,
        }
    }
}

impl UsageRow {
    fn of<'a>(name: String, records: impl IntoIterator<Item = &'a UsageRecord>) -> Self {
        let mut sums = Sums::default();
        records.into_iter().for_each(|it| sums.add(&it.sums));
        Self {
            name,
            cost: sums.dollars(),
            sums,
        }
    }
}

/// Returns a row for each name, sorted by name.
fn grouped(records: &[UsageRecord], name: impl Fn(&UsageRecord) -> String) -> Vec<UsageRow> {
    let mut groups: BTreeMap<String, Vec<&UsageRecord>> = BTreeMap::new();
    for record in records {
        groups.entry(name(record)).or_default().push(record);
    }
    let groups = groups.into_iter();
    groups
        .map(|(name, records)| UsageRow::of(name, records))
        .collect()
}

fn by_cost(mut rows: Vec<UsageRow>) -> Vec<UsageRow> {
    let size = |row: &UsageRow| (row.cost.unwrap_or_default(), row.sums.output);
    // Costs are floats, which have no total order, but none of them is NaN.
    rows.sort_by(|a, b| {
        size(b)
            .partial_cmp(&size(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    rows
}

/// Returns the lines about the last days of all chats. Reads up to 20 MB.
pub fn report(days: Option<u32>) -> Vec<String> {
    match UsageReport::read(&UsageLog::open(&state_dir::path()), days) {
        Ok(report) => lines(&report),
        Err(error) => vec![format!("The usage log cannot be read: {error}.")],
    }
}

/// Returns the report as aligned lines, without control characters.
pub fn lines(report: &UsageReport) -> Vec<String> {
    let days = match report.days {
        1 => "Today (UTC)".to_owned(),
        days => format!("The last {days} days"),
    };
    let mut lines = report.problems.clone();
    if report.total.sums.requests == 0 {
        lines.push(format!("{days}: no requests."));
        return lines;
    }
    lines.extend([days, String::new()]);
    let tables = [
        ("day (UTC)", &report.by_day),
        ("model", &report.by_model),
        ("project", &report.by_project),
    ];
    for (heading, rows) in tables {
        lines.extend(table(heading, rows));
        lines.push(String::new());
    }
    lines.extend(
        table("total", std::slice::from_ref(&report.total))
            .into_iter()
            // The heading would repeat that of the tables above.
            .skip(1),
    );
    if report.total.sums.unpriced > 0 {
        let unpriced = report.total.sums.unpriced;
        lines.push(format!("The prices of {unpriced} requests are not known."));
    }
    lines.push(LEGEND.to_owned());
    lines
}

fn table(heading: &str, rows: &[UsageRow]) -> Vec<String> {
    let headings = [heading, "sent", "in", "cached", "stored", "out", "cost"];
    let headings = headings.map(str::to_owned);
    let cells = rows.iter().map(cells);
    std::iter::once(headings)
        .chain(cells)
        .map(|[name, numbers @ ..]| {
            let numbers = numbers.map(|it| format!("{it:>NUMBER$}")).concat();
            format!("{name:<MAX_NAME$}{numbers}")
        })
        .collect()
}

fn cells(row: &UsageRow) -> [String; 7] {
    let sums = &row.sums;
    [
        // Names come from paths and servers, and a terminal would obey control characters.
        one_line(&short(&row.name), MAX_NAME),
        sums.requests.to_string(),
        count(sums.input),
        count(sums.cache_read),
        count(sums.cache_creation),
        count(sums.output),
        sums.cost().unwrap_or_else(|| "?".to_owned()),
    ]
}

/// Cuts the beginning of a name that is too long.
fn short(name: &str) -> String {
    let length = name.chars().count();
    match length.checked_sub(MAX_NAME) {
        None | Some(0) => name.to_owned(),
        Some(more) => format!("…{}", name.chars().skip(more + 1).collect::<String>()),
    }
}

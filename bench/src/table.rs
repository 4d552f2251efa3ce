//! The table of results: rows of figures, budgets, and verdicts.

use std::io::{self, Write};

/// The figures of one measurement, sorted, in the unit of its row.
#[derive(Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds a figure.
    pub fn add(&mut self, figure: f64) {
        self.0.push(figure);
        self.0.sort_by(f64::total_cmp);
    }

    /// Adds all figures of `other`.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.sort_by(f64::total_cmp);
    }

    /// The quantile `share`, or 0 without figures.
    pub fn at(&self, share: f64) -> f64 {
        let index = (self.0.len() as f64 * share).ceil() as usize;
        let last = self.0.len().saturating_sub(1);
        self.0
            .get(index.saturating_sub(1).min(last))
            .copied()
            .unwrap_or(0.0)
    }

    /// The only figure, or median, 99th percentile, and maximum.
    fn describe(&self) -> String {
        match self.0.as_slice() {
            [only] => figure(*only),
            _ => [0.5, 0.99, 1.0]
                .map(|share| figure(self.at(share)))
                .join(" / "),
        }
    }

    /// The median.
    pub fn median(&self) -> f64 {
        self.at(0.5)
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(figures: I) -> Self {
        let mut samples = Self(figures.into_iter().collect());
        samples.0.sort_by(f64::total_cmp);
        samples
    }
}

/// The budget of a row. A missing limit is infinite.
#[derive(Clone, Copy)]
pub struct Budget {
    p50: f64,
    p99: f64,
    max: f64,
    /// The cost by hand on the machine for which the limits were set.
    by_hand: Option<f64>,
}

impl Budget {
    /// No limits, for a row that is only a comparison.
    pub const NONE: Self = Self {
        p50: f64::INFINITY,
        p99: f64::INFINITY,
        max: f64::INFINITY,
        by_hand: None,
    };

    /// Limits the median.
    pub const fn median(limit: f64) -> Self {
        Self {
            p50: limit,
            ..Self::NONE
        }
    }

    /// Limits the 99th percentile.
    pub const fn p99(self, limit: f64) -> Self {
        Self { p99: limit, ..self }
    }

    /// Limits the maximum.
    pub const fn max(self, limit: f64) -> Self {
        Self { max: limit, ..self }
    }

    /// Sets the cost by hand on the reference machine.
    pub const fn by_hand(self, reference: f64) -> Self {
        Self {
            by_hand: Some(reference),
            ..self
        }
    }

    fn limits(&self) -> [(&'static str, f64, f64); 3] {
        [
            ("p50", 0.5, self.p50),
            ("p99", 0.99, self.p99),
            ("max", 1.0, self.max),
        ]
    }

    fn describe(&self) -> String {
        let limits = self
            .limits()
            .into_iter()
            .filter(|limit| limit.2.is_finite());
        let words: Vec<String> = limits
            .map(|(name, _, limit)| format!("{name} ≤ {}", figure(limit)))
            .collect();
        words.join(", ")
    }
}

/// A row of the table.
pub struct Row {
    /// What was measured, with its unit unless that is milliseconds.
    pub what: String,
    /// The same work by hand, in the same run.
    pub hand: Option<Samples>,
    /// The figures of the plugin.
    pub ours: Samples,
    /// Their budget.
    pub budget: Budget,
    /// The number of lines of the chat, if the cost must not grow with it.
    pub lines: Option<usize>,
}

impl Row {
    fn verdict(&self) -> String {
        let limits = self.budget.limits();
        let over: Vec<_> = limits
            .iter()
            .filter(|&&(_, share, limit)| self.ours.at(share) > limit)
            .collect();
        if self.budget.describe().is_empty() {
            return String::new();
        }
        if over.is_empty() {
            return "ok".to_owned();
        }
        let slower = match (&self.hand, self.budget.by_hand) {
            (Some(hand), Some(reference)) => hand.median() / reference,
            _ => 1.0,
        };
        if over
            .iter()
            .all(|&&(_, share, limit)| self.ours.at(share) <= limit * slower)
        {
            return format!("ok by ratio: the machine is {slower:.1} × slower");
        }
        let names: Vec<&str> = over.iter().map(|limit| limit.0).collect();
        let names = names.join(", ");
        let by_hand_too = self.hand.as_ref().is_some_and(|hand| {
            over.iter()
                .all(|&&(_, share, limit)| hand.at(share) > limit)
        });
        if by_hand_too {
            return format!("noise: {names} over, by hand too");
        }
        format!("OVER: {names}")
    }

    fn line(&self) -> String {
        let hand = self.hand.as_ref().map(Samples::median);
        let ratio = hand
            .filter(|hand| *hand > 0.0)
            .map(|hand| self.ours.median() / hand);
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            self.what,
            self.hand.as_ref().map_or("–".to_owned(), Samples::describe),
            figure(self.ours.median()),
            figure(self.ours.at(0.99)),
            figure(self.ours.at(1.0)),
            self.budget.describe(),
            ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.1}")),
            self.verdict(),
        )
    }
}

/// All rows so far. Each is printed when it is added.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Prints the column heads.
    ///
    /// # Errors
    ///
    /// Standard output is closed.
    pub fn head(&self) -> io::Result<()> {
        let heads = "| ms, unless said | by hand (p50 / p99 / max) | ours p50 | p99 | max | budget | ratio | verdict |";
        writeln!(
            io::stdout(),
            "{heads}\n| --- | --- | --- | --- | --- | --- | --- | --- |"
        )
    }

    /// Adds a row and prints it.
    ///
    /// # Errors
    ///
    /// Standard output is closed.
    pub fn add(&mut self, row: Row) -> io::Result<()> {
        writeln!(io::stdout(), "{}", row.line())?;
        self.rows.push(row);
        Ok(())
    }

    /// Adds a row with work by hand, and one for what `by` adds to it: at most `limit`, in the
    /// median.
    ///
    /// # Errors
    ///
    /// Standard output is closed.
    pub fn compare(&mut self, row: Row, by: &str, limit: f64) -> io::Result<()> {
        let by_hand = row.hand.as_ref().map_or(0.0, Samples::median);
        let added = row.ours.median() - by_hand;
        self.add(row)?;
        self.add(Row {
            what: format!("added to it by {by}"),
            hand: None,
            ours: [added].into_iter().collect(),
            budget: Budget::median(limit),
            lines: None,
        })
    }

    /// Prints how each cost grows from the shortest chat to the longest: the exponent, which is 0 for
    /// constant and 1 for proportional cost.
    ///
    /// # Errors
    ///
    /// Standard output is closed.
    pub fn growth(&mut self) -> io::Result<()> {
        let mut found: Vec<(String, f64)> = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let Some(first) = row.lines else { continue };
            let name = row.what.replace(&crate::chats::name(first), "N");
            if found.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let longest = self.rows[index + 1..].iter().rev().find(|other| {
                other.lines.is_some_and(|lines| {
                    lines > first && other.what.replace(&crate::chats::name(lines), "N") == name
                })
            });
            if let Some(longest) = longest {
                let length = longest.lines.unwrap_or(first) as f64 / first as f64;
                let cost = longest.ours.median() / row.ours.median();
                found.push((name, cost.ln() / length.ln()));
            }
        }
        for (name, slope) in found {
            self.add(Row {
                what: format!("growth of: {name} (exponent)"),
                hand: None,
                ours: [slope].into_iter().collect(),
                budget: Budget::median(0.1),
                lines: None,
            })?;
        }
        Ok(())
    }
}

/// Formats a figure with three significant digits.
fn figure(number: f64) -> String {
    match number.abs() {
        0.0..0.995 => format!("{number:.2}"),
        0.995..9.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

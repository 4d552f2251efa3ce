//! `flemma backends`: a table of the providers, with address, model, and reachability.
//!
//! Sends nothing to a model, and no key.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use agent::transport;
use futures::future::join_all;
use policy::settings::Settings;
use provider::{Endpoint, Parameters, catalogue};
use session::endpoint::{self, Destination};

use crate::block_on;
use crate::config::Config;
use crate::terminal::{self, Code};

/// A row of the table: name, endpoint, model, reachable, tools.
type Row = [String; 5];

/// Prints a row for each provider, and the date of the catalogue of their models.
pub fn print(config: &Config) -> ExitCode {
    let mut names = endpoint::provider_names();
    // The tutor is built in and has no server, so the table of providers has no row for it.
    names.push("tutor".to_owned());
    let settings = &config.settings;
    // At the same time, because each server may need the whole time limit.
    let rows = match block_on(join_all(names.iter().map(|name| row(name, settings)))) {
        Ok(rows) => rows,
        Err(problem) => return Code::Error.report(&problem),
    };
    let heading = ["NAME", "ENDPOINT", "MODEL", "REACHABLE", "TOOLS"].map(str::to_owned);
    let all: Vec<Row> = std::iter::once(heading).chain(rows).collect();
    let date = catalogue::date();
    let table = table(&all);
    let width = table.lines().map(|line| line.chars().count()).max();
    let columns = terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
    let shown = match columns.filter(|it| width > Some(*it)) {
        Some(columns) => blocks(&all[1..], columns),
        None => table,
    };
    terminal::print(&format!("{shown}\n\nCatalogue of models: {date}")).into()
}

/// Returns a few lines for each provider, for a terminal that the table does not fit in.
fn blocks(rows: &[Row], columns: usize) -> String {
    let blocks = rows
        .iter()
        .map(|[name, endpoint, model, reachable, tools]| {
            let lines = [
                format!("{name}: {model}"),
                format!("  {endpoint}"),
                format!("  reachable: {reachable}; tools: {tools}"),
            ];
            lines.map(|line| wrapped(&line, columns)).join("\n")
        });
    blocks.collect::<Vec<_>>().join("\n")
}

/// Breaks a line between words; the rest is indented.
fn wrapped(line: &str, columns: usize) -> String {
    let (mut text, mut used) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let width = word.trim_end().chars().count();
        if used > 4 && used + width > columns {
            text.truncate(text.trim_end().len());
            text.push_str("\n    ");
            used = 4;
        }
        text.push_str(word);
        used += word.chars().count();
    }
    text
}

async fn row(name: &str, settings: &Settings) -> Row {
    let mut settings = settings.clone();
    // The model of the options belongs to the provider of the options.
    if settings.provider != name {
        settings.model = None;
    }
    name.clone_into(&mut settings.provider);
    let variables = |name: &str| tools::variable(name);
    let [endpoint, model, reachable, tools] = match endpoint::destination(&settings, &variables) {
        Ok(Destination::Server(endpoint, parameters)) => server(&endpoint, &parameters).await,
        Ok(_) => ["built in", "none", "yes", "yes"].map(str::to_owned),
        Err(problem) => ["-", "-", problem.what.as_str(), "-"].map(str::to_owned),
    };
    [name.to_owned(), endpoint, model, reachable, tools]
}

/// Returns the columns behind the name.
async fn server(endpoint: &Endpoint, parameters: &Parameters) -> [String; 4] {
    let model = match parameters.model.as_str() {
        "" => "the server's first",
        model => model,
    };
    let tools = match parameters.about.tools {
        Some(true) => "yes",
        Some(false) => "no",
        None => "as the model can",
    };
    [
        endpoint.base_url.clone(),
        model.to_owned(),
        reachable(endpoint).await,
        tools.to_owned(),
    ]
}

async fn reachable(endpoint: &Endpoint) -> String {
    match reach(endpoint).await {
        Ok(_) => "yes".to_owned(),
        Err(why) => format!("no: {why}"),
    }
}

fn table(rows: &[Row]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..5)
        .map(|column| width(column).unwrap_or_default())
        .collect();
    let lines = rows.iter().map(|row| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How long a server may take to answer.
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// Requests the base URL, without a key. Any response, even an error, shows that a server is
/// there. Returns how long it took.
///
/// # Errors
///
/// The server does not answer; the text is a clause.
pub async fn reach(endpoint: &Endpoint) -> Result<Duration, String> {
    let (base_url, ca_file) = (&endpoint.base_url, endpoint.ca_file.as_deref());
    let client = transport::client(base_url, ca_file, TIMEOUT).map_err(|problem| problem.what)?;
    let begun = Instant::now();
    // Any answer will do, even an error: without a key, most servers refuse the request.
    match client.get(base_url).timeout(TIMEOUT).send().await {
        Ok(_) => Ok(begun.elapsed()),
        Err(error) if error.is_timeout() => Err("it does not answer".to_owned()),
        Err(_) => Err("there is no connection".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_narrow_terminal_each_line_fits() {
        let row: Row = [
            "anthropic",
            "https://api.anthropic.com",
            "claude-sonnet-5-5",
            "no: the server did not answer in time, and this is a long reason with many words in it",
            "yes",
        ]
        .map(str::to_owned);
        let shown = blocks(&[row], 60);
        assert!(shown.lines().all(|it| it.chars().count() <= 60), "{shown}");
        assert!(shown.starts_with(
            "anthropic: claude-sonnet-5-5\n  https://api.anthropic.com\n  reachable: no"
        ));
    }
}

//! `flemma backends`: a table of the providers, with address, model, and reachability.
//!
//! Sends nothing to a model, and no key.

use std::process::ExitCode;

use futures::future::join_all;
use provider::{Endpoint, Parameters};

use crate::config::Config;
use crate::endpoint::{self, Destination};
use crate::exit_code::Code;
use crate::reach::reach;
use crate::settings::Settings;
use crate::{runtime, stdout};

/// A row of the table: name, endpoint, model, reachable, tools.
type Row = [String; 5];

/// Prints a row for each provider.
pub fn print(config: &Config) -> ExitCode {
    let mut names = endpoint::provider_names();
    // The tutor is built in and has no server, so it is no row of the providers.
    names.push("tutor".to_owned());
    let settings = &config.settings;
    // At the same time, because each server may need the whole time limit.
    let rows = match runtime::block_on(join_all(names.iter().map(|name| row(name, settings)))) {
        Ok(rows) => rows,
        Err(problem) => return Code::Error.report(&problem),
    };
    let heading = ["NAME", "ENDPOINT", "MODEL", "REACHABLE", "TOOLS"].map(str::to_owned);
    let all: Vec<Row> = std::iter::once(heading).chain(rows).collect();
    stdout::print(&table(&all)).into()
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

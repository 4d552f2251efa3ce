//! `flemma backends`: who can be asked, where, for which model, and whether somebody
//! answers there.
//!
//! Nothing is asked of a model, and no key is sent.

use std::process::ExitCode;
use std::time::Duration;

use agent::transport;
use futures::future::join_all;
use provider::Endpoint;

use crate::config::Config;
use crate::endpoint::{self, Destination};
use crate::exit_code::Code;
use crate::settings::Settings;
use crate::stdout;

/// How long a server may take to answer at all.
const PATIENCE: Duration = Duration::from_secs(3);

/// A line of the table.
type Row = [String; 5];

/// Prints a row for each provider.
pub fn print(config: &Config) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return Code::Error.into();
    };
    let mut names = endpoint::provider_names();
    names.push("tutor".to_owned());
    let settings = &config.settings;
    let rows = runtime.block_on(join_all(names.iter().map(|name| row(name, settings))));
    let heading = ["NAME", "ENDPOINT", "MODEL", "REACHABLE", "TOOLS"].map(str::to_owned);
    let all: Vec<Row> = std::iter::once(heading).chain(rows).collect();
    stdout::print(&table(&all)).into()
}

async fn row(name: &str, settings: &Settings) -> Row {
    let mut settings = settings.clone();
    // A model is meant for the provider that the options name.
    if settings.provider != name {
        settings.model = None;
    }
    name.clone_into(&mut settings.provider);
    let variables = |name: &str| tools::variable(name);
    let cells = match endpoint::destination(&settings, &variables) {
        Ok(Destination::Server(endpoint, parameters)) => {
            let model = match parameters.model.as_str() {
                "" => "the server's first",
                model => model,
            };
            let reachable = reachable(&endpoint).await;
            let tools = match parameters.about.tools {
                Some(true) => "yes",
                Some(false) => "no",
                None => "as the model can",
            };
            [
                endpoint.base_url.clone(),
                model.to_owned(),
                reachable,
                tools.to_owned(),
            ]
        }
        Ok(_) => ["built in", "none", "yes", "yes"].map(str::to_owned),
        Err(problem) => [
            "-".to_owned(),
            "-".to_owned(),
            problem.what.clone(),
            "-".to_owned(),
        ],
    };
    let [endpoint, model, reachable, tools] = cells;
    [name.to_owned(), endpoint, model, reachable, tools]
}

/// Any answer will do: it says that somebody is there.
async fn reachable(endpoint: &Endpoint) -> String {
    let (base_url, ca_file) = (&endpoint.base_url, endpoint.ca_file.as_deref());
    let client = match transport::client(base_url, ca_file, PATIENCE) {
        Ok(client) => client,
        Err(problem) => return format!("no: {}", problem.what),
    };
    match client.get(base_url).timeout(PATIENCE).send().await {
        Ok(_) => "yes".to_owned(),
        Err(error) if error.is_timeout() => "no: it does not answer".to_owned(),
        Err(_) => "no".to_owned(),
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

//! Servers as users write them: in `mcp.servers`, or in the `mcpServers` of a
//! project's `.mcp.json`. Pure; the caller has the text and the environment.

mod expand;
mod identity;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use expand::expand;
pub use identity::Identity;

/// A server, and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// What the user calls it; the first half of its tools' names.
    pub name: String,
    /// What it is recognized by when its tools are compared with earlier ones.
    pub identity: Identity,
    /// How it is reached.
    pub reach: Reach,
    /// Seconds a call may take, where the user said so.
    pub timeout: Option<u64>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program that speaks over its standard streams.
    Program {
        /// The program, and its arguments.
        argv: Vec<String>,
        /// Added to its environment.
        env: BTreeMap<String, String>,
        /// Where it runs; where the host does when absent.
        cwd: Option<PathBuf>,
    },
    /// A server that is there already.
    Http {
        /// Its address.
        url: String,
        /// Sent with each request; values may be secrets.
        headers: BTreeMap<String, String>,
    },
}

/// The forms that are in use: ours, and that of `.mcp.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    command: Option<Command>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    timeout: Option<u64>,
    /// `stdio`, `http`; told by the other fields as well.
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Command {
    Name(String),
    Argv(Vec<String>),
}

/// Reads a table of servers by name. What is wrong with one is a sentence that names
/// it, and leaves the others as they are. `origin` names the configuration file.
pub fn read(
    table: &Map<String, Value>,
    origin: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> (Vec<Spec>, Vec<String>) {
    let (mut specs, mut problems) = (Vec::new(), Vec::new());
    for (name, written) in table {
        match one(name, written, origin, variable) {
            Ok(spec) => specs.push(spec),
            Err(why) => problems.push(format!("The MCP server \"{name}\" is left out: {why}.")),
        }
    }
    (specs, problems)
}

/// The servers of a `.mcp.json`.
///
/// # Errors
///
/// It is no JSON object with a table `mcpServers`; the text says what is wrong.
pub fn project_table(text: &str) -> Result<Map<String, Value>, String> {
    // Editors on Windows begin files with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match file.get("mcpServers") {
        Some(Value::Object(table)) => Ok(table.clone()),
        _ => Err("it has no table \"mcpServers\"".to_owned()),
    }
}

fn one(
    name: &str,
    written: &Value,
    origin: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Spec, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 32 || !name.chars().all(fits) {
        return Err("its name must be 1 to 32 letters, digits, \"-\" and \"_\"".to_owned());
    }
    if !written.is_object() {
        return Err("it is no table".to_owned());
    }
    let expanded = expand(written.clone(), variable)?;
    let read = |value| serde_json::from_value::<Written>(value).map_err(|error| error.to_string());
    // By what the user wrote: a token that is new each day is the same server.
    let unexpanded = read(written.clone())?;
    let url = unexpanded.url.clone();
    let identity = Identity::new(origin, name, &unexpanded.argv(), url.as_deref());
    let written = read(expanded)?;
    let timeout = written.timeout;
    let kind = written.kind.clone();
    let reach = reach(written)?;
    check_kind(kind.as_deref(), &reach)?;
    Ok(Spec {
        name: name.to_owned(),
        identity,
        reach,
        timeout,
    })
}

fn reach(written: Written) -> Result<Reach, String> {
    match (&written.command, &written.url) {
        (Some(_), Some(_)) => Err("it has both a command and a url".to_owned()),
        (None, None) => Err("it has neither a command nor a url".to_owned()),
        (Some(_), None) => {
            let (env, cwd) = (written.env.clone(), written.cwd.clone());
            let argv = written.argv();
            if argv.first().is_none_or(|it| it.trim().is_empty()) {
                return Err("its command is empty".to_owned());
            }
            Ok(Reach::Program { argv, env, cwd })
        }
        (None, Some(url)) => {
            if !(url.starts_with("https://") || url.starts_with("http://")) {
                return Err(format!(
                    "its url {url:?} does not begin with http:// or https://"
                ));
            }
            Ok(Reach::Http {
                url: url.clone(),
                headers: written.headers,
            })
        }
    }
}

fn check_kind(kind: Option<&str>, reach: &Reach) -> Result<(), String> {
    match (kind, reach) {
        (None, _)
        | (Some("stdio"), Reach::Program { .. })
        | (Some("http" | "streamable-http"), Reach::Http { .. }) => Ok(()),
        (Some("sse"), _) => Err(
            "its type \"sse\" is the transport of 2024, which is not spoken here; use \"http\""
                .to_owned(),
        ),
        (Some(kind), _) => Err(format!("its type {kind:?} does not fit its other fields")),
    }
}

impl Written {
    /// The program and its arguments, in either form.
    fn argv(self) -> Vec<String> {
        let mut argv = match self.command {
            None => Vec::new(),
            Some(Command::Name(name)) => vec![name],
            Some(Command::Argv(argv)) => argv,
        };
        argv.extend(self.args);
        argv
    }
}

impl Spec {
    /// A server of the configuration file `origin` that is reached as it says, without
    /// variables, with the usual time limit.
    pub fn new(origin: &str, name: &str, reach: Reach) -> Self {
        let identity = match &reach {
            Reach::Program { argv, .. } => Identity::new(origin, name, argv, None),
            Reach::Http { url, .. } => Identity::new(origin, name, &[], Some(url)),
        };
        Self {
            name: name.to_owned(),
            identity,
            reach,
            timeout: None,
        }
    }

    /// What runs or whom it asks, for people; no value of a variable or a header.
    pub fn shown(&self) -> String {
        match &self.reach {
            Reach::Program { argv, .. } => argv.join(" "),
            // What stands before an `@` may be a password, what follows a `?` a key.
            Reach::Http { url, .. } => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
                let rest = rest.split(['?', '#']).next().unwrap_or_default();
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = authority.rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}{path}")
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_one(written: Value) -> Result<Spec, String> {
        let variable = |name: &str| (name == "WHERE").then(|| "/srv".to_owned());
        let table = Map::from_iter([("docs".to_owned(), written)]);
        let (mut specs, problems) = read(&table, "setup()", &variable);
        specs.pop().ok_or_else(|| problems.concat())
    }

    #[test]
    fn a_program_and_an_address_are_read_in_the_forms_that_are_in_use() {
        let spec =
            read_one(json!({"command": "npx", "args": ["-y", "x", "${WHERE}/a"], "type": "stdio"}));
        assert_eq!(spec.unwrap().shown(), "npx -y x /srv/a");
        let spec = read_one(json!({"command": ["npx", "-y", "${NOT:-x}"]}));
        assert_eq!(spec.unwrap().shown(), "npx -y x");
        let spec =
            read_one(json!({"url": "https://me:pw@host:1/mcp?key=k", "headers": {"A": "b"}}));
        assert_eq!(spec.unwrap().shown(), "https://host:1/mcp");
    }

    #[test]
    fn what_is_wrong_is_said_with_the_servers_name() {
        for (written, said) in [
            (json!({}), "it has neither a command nor a url"),
            (json!(5), "it is no table"),
            (json!({"command": "a", "url": "http://x"}), "it has both"),
            (json!({"command": [""]}), "its command is empty"),
            (json!({"url": "ftp://x"}), "does not begin with http://"),
            (
                json!({"url": "http://x", "type": "sse"}),
                "the transport of 2024",
            ),
            (json!({"command": "a", "type": "http"}), "does not fit"),
            (json!({"command": "${NOT}"}), "the variable NOT is not set"),
            (json!({"comand": "a"}), "unknown field `comand`"),
        ] {
            let problem = read_one(written).unwrap_err();
            assert!(
                problem.starts_with("The MCP server \"docs\" is left out: "),
                "{problem}"
            );
            assert!(problem.contains(said), "{problem}");
        }
    }

    #[test]
    fn a_projects_file_has_a_table_of_servers() {
        assert!(
            project_table(r#"{"mcpServers":{"a":{"command":"b"}}}"#)
                .unwrap()
                .contains_key("a")
        );
        assert!(project_table("\u{feff}{\"mcpServers\":{}}").is_ok());
        assert!(project_table("{}").unwrap_err().contains("mcpServers"));
        assert!(project_table("{").is_err());
    }
}

//! Server configurations: `mcp.servers`, and `mcpServers` in a project's `.mcp.json`. Pure;
//! the caller supplies the text and the environment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Configuration of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// The user's name for it; the first half of its tools' names.
    pub name: String,
    /// Identity used to find its accepted tools.
    pub identity: Identity,
    /// How to connect to it.
    pub reach: Reach,
    /// Time limit of a call in seconds, if set.
    pub timeout: Option<u64>,
    /// The command or URL as configured: variables are not expanded, because their values may
    /// be secrets.
    shown: String,
}

/// How to connect to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program that uses its standard streams.
    Program {
        /// The program, and its arguments.
        argv: Vec<String>,
        /// Additional environment variables.
        env: BTreeMap<String, String>,
        /// Working directory; the host's if absent.
        cwd: Option<PathBuf>,
    },
    /// A running server.
    Http {
        /// Its address.
        url: String,
        /// Headers of each request; values may be secrets.
        headers: BTreeMap<String, String>,
        /// The client as which the user logs in, as far as it is configured.
        oauth: OauthClient,
    },
}

/// The client as which a user logs in (OAuth). What is missing is found out from the server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OauthClient {
    /// The id of a registered client.
    #[serde(rename = "client_id", alias = "clientId")]
    pub id: Option<String>,
    /// Its secret.
    #[serde(rename = "client_secret", alias = "clientSecret")]
    pub secret: Option<ClientSecret>,
    /// The address of a client metadata document, which is the id where the server takes such ids.
    #[serde(rename = "client_metadata_url", alias = "clientMetadataUrl")]
    pub metadata_url: Option<String>,
    /// The scopes to request; those that the server names if empty.
    pub scopes: Vec<String>,
    /// The port of the redirect; a random one if absent.
    #[serde(rename = "callback_port", alias = "callbackPort")]
    pub port: Option<u16>,
}

/// The secret of a client, which is not printed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct ClientSecret(pub(crate) String);

impl From<String> for ClientSecret {
    fn from(secret: String) -> Self {
        Self(secret)
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(…)")
    }
}

/// A configuration as written: our form, or that of `.mcp.json`.
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
    oauth: Option<OauthClient>,
    #[serde(default)]
    timeout: Option<u64>,
    /// `stdio` or `http`; redundant, because the other fields imply it.
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Command {
    Name(String),
    Argv(Vec<String>),
}

/// Reads a table of servers. An invalid server yields a sentence that names it, and the
/// others are still read. `origin` is the configuration file.
pub fn read(
    table: &Map<String, Value>,
    origin: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> (Vec<ServerSpec>, Vec<String>) {
    let (mut specs, mut problems) = (Vec::new(), Vec::new());
    for (name, written) in table {
        match one(name, written, origin, variable) {
            Ok(spec) => specs.push(spec),
            Err(why) => problems.push(format!("The MCP server \"{name}\" is not used: {why}.")),
        }
    }
    (specs, problems)
}

/// Returns the servers of a `.mcp.json`.
///
/// # Errors
///
/// The text is not a JSON object with a table `mcpServers`.
pub fn project_table(text: &str) -> Result<Map<String, Value>, String> {
    // Some Windows editors write a byte order mark.
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
) -> Result<ServerSpec, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    // The name becomes a part of the tools' names, which providers restrict.
    if name.is_empty() || name.len() > 32 || !name.chars().all(fits) {
        return Err("its name must be 1 to 32 letters, digits, \"-\" and \"_\"".to_owned());
    }
    if !written.is_object() {
        return Err("it is not a table".to_owned());
    }
    let expanded = expand(written.clone(), variable)?;
    let read = |value| serde_json::from_value::<Written>(value).map_err(|error| error.to_string());
    // Hash the unexpanded text: a rotating token must not make the server new.
    let unexpanded = read(written.clone())?;
    let url = unexpanded.url.clone();
    let argv = unexpanded.argv();
    let identity = Identity::new(origin, name, &argv, url.as_deref());
    let shown = url.map_or_else(|| argv.join(" "), |url| shown_url(&url));
    let written = read(expanded)?;
    let timeout = written.timeout;
    let kind = written.kind.clone();
    let reach = reach(written)?;
    check_kind(kind.as_deref(), &reach)?;
    Ok(ServerSpec {
        name: name.to_owned(),
        identity,
        reach,
        timeout,
        shown,
    })
}

/// Returns a URL without user info, query, and fragment.
fn shown_url(url: &str) -> String {
    // User info may contain a password, and the query a key.
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

fn reach(written: Written) -> Result<Reach, String> {
    match (&written.command, &written.url) {
        (Some(_), Some(_)) => Err("it has both a command and a url".to_owned()),
        (None, None) => Err("it has neither a command nor a url".to_owned()),
        (Some(_), None) if written.oauth.is_some() => {
            Err("it has a table `oauth`, but only servers with a url have logins".to_owned())
        }
        (Some(_), None) => {
            let (env, cwd) = (written.env.clone(), written.cwd.clone());
            let argv = written.argv();
            // `reach::open_as` starts the first word.
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
            let oauth = written.oauth.unwrap_or_default();
            check_client(&oauth)?;
            Ok(Reach::Http {
                url: url.clone(),
                headers: written.headers,
                oauth,
            })
        }
    }
}

fn check_client(oauth: &OauthClient) -> Result<(), String> {
    if oauth.secret.is_some() && oauth.id.is_none() {
        return Err("its oauth.client_secret needs an oauth.client_id".to_owned());
    }
    match &oauth.metadata_url {
        Some(url) if !url.starts_with("https://") => Err(format!(
            "its oauth.client_metadata_url {url:?} does not begin with https://"
        )),
        Some(_) | None => Ok(()),
    }
}

fn check_kind(kind: Option<&str>, reach: &Reach) -> Result<(), String> {
    match (kind, reach) {
        (None, _)
        | (Some("stdio"), Reach::Program { .. })
        | (Some("http" | "streamable-http"), Reach::Http { .. }) => Ok(()),
        (Some("sse"), _) => Err(
            "its type \"sse\" is the transport of 2024, which is not supported; use \"http\""
                .to_owned(),
        ),
        (Some(kind), _) => Err(format!("its type {kind:?} does not fit its other fields")),
    }
}

impl Written {
    /// Returns the program and its arguments, from either form.
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

impl ServerSpec {
    /// Creates a server of the configuration file `origin`, without variables and with the
    /// default time limit.
    pub fn new(origin: &str, name: &str, reach: Reach) -> Self {
        let (identity, shown) = match &reach {
            Reach::Program { argv, .. } => {
                (Identity::new(origin, name, argv, None), argv.join(" "))
            }
            Reach::Http { url, .. } => {
                (Identity::new(origin, name, &[], Some(url)), shown_url(url))
            }
        };
        Self {
            name: name.to_owned(),
            identity,
            reach,
            timeout: None,
            shown,
        }
    }

    /// Returns the command or URL for display, without values of variables or headers.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// Replaces `${NAME}` and `${NAME:-default}` with environment variables.
fn expand(value: Value, variable: &dyn Fn(&str) -> Option<String>) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(expand_text(&text, variable)?),
        Value::Array(list) => {
            let expanded: Result<_, _> = list.into_iter().map(|it| expand(it, variable)).collect();
            Value::Array(expanded?)
        }
        Value::Object(map) => {
            let mut expanded = Map::new();
            for (name, value) in map {
                expanded.insert(name, expand(value, variable)?);
            }
            Value::Object(expanded)
        }
        other => other,
    })
}

fn expand_text(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(end) = rest[start..].find('}').map(|end| start + end) else {
            // An unclosed `${` is ordinary text.
            break;
        };
        expanded.push_str(&rest[..start]);
        let (name, otherwise) = match rest[start + 2..end].split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (&rest[start + 2..end], None),
        };
        // A missing variable is an error, because an empty one would start another command.
        let value = variable(name).or_else(|| otherwise.map(str::to_owned));
        expanded.push_str(&value.ok_or_else(|| format!("the variable {name} is not set"))?);
        // The value is not expanded again, because it may contain `${` itself.
        rest = &rest[end + 1..];
    }
    Ok(expanded + rest)
}

/// SHA-256, in hexadecimal, of a server's configuration file, name, and command line or URL
/// before variables are expanded.
/// Excludes `env`, `headers`, and the values of variables: a rotating secret must not make
/// a server new, because the tools of a new server are accepted without a question.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity(String);

impl Identity {
    /// Returns the identity of the server `name` in the configuration file `origin`, from
    /// its command line or URL as written.
    pub fn new(origin: &str, name: &str, argv: &[String], url: Option<&str>) -> Self {
        // As JSON, so that moving a word from one part to the next changes the digest.
        let written = json!([origin, name, argv, url]);
        let digest = Sha256::digest(written.to_string());
        Self(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The digest.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::spec::read;

    fn read_one(written: Value) -> Result<ServerSpec, String> {
        let variable = |name: &str| (name == "WHERE").then(|| "/srv".to_owned());
        let table = Map::from_iter([("docs".to_owned(), written)]);
        let (mut specs, problems) = read(&table, "setup()", &variable);
        specs.pop().ok_or_else(|| problems.concat())
    }

    fn argv(spec: &ServerSpec) -> &[String] {
        match &spec.reach {
            Reach::Program { argv, .. } => argv,
            Reach::Http { .. } => &[],
        }
    }

    #[test]
    fn values_of_variables_are_not_shown() {
        for (written, shown) in [
            (
                json!({"command": "x", "args": ["--key=${WHERE}"]}),
                "x --key=${WHERE}",
            ),
            (
                json!({"url": "https://h/${WHERE}/mcp"}),
                "https://h/${WHERE}/mcp",
            ),
            (
                json!({"url": "https://h/mcp?key=${WHERE}"}),
                "https://h/mcp",
            ),
            (json!({"url": "https://${WHERE}@h/mcp"}), "https://h/mcp"),
        ] {
            assert_eq!(read_one(written).unwrap().shown(), shown);
        }
    }

    #[test]
    fn all_common_forms_of_programs_and_addresses_are_read() {
        let spec =
            read_one(json!({"command": "npx", "args": ["-y", "x", "${WHERE}/a"], "type": "stdio"}));
        assert_eq!(spec.as_ref().unwrap().shown(), "npx -y x ${WHERE}/a");
        assert_eq!(argv(&spec.unwrap()), ["npx", "-y", "x", "/srv/a"]);
        let spec = read_one(json!({"command": ["npx", "-y", "${NOT:-x}"]}));
        assert_eq!(argv(&spec.unwrap()), ["npx", "-y", "x"]);
        let spec =
            read_one(json!({"url": "https://me:pw@host:1/mcp?key=k", "headers": {"A": "b"}}));
        assert_eq!(spec.unwrap().shown(), "https://host:1/mcp");
    }

    #[test]
    fn an_error_names_the_server() {
        for (written, said) in [
            (json!({}), "it has neither a command nor a url"),
            (json!(5), "it is not a table"),
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
            (
                json!({"command": "a", "oauth": {}}),
                "only servers with a url",
            ),
            (
                json!({"url": "http://x", "oauth": {"client_secret": "s"}}),
                "needs an oauth.client_id",
            ),
            (
                json!({"url": "http://x", "oauth": {"client_metadata_url": "http://x/c"}}),
                "does not begin with https://",
            ),
        ] {
            let problem = read_one(written).unwrap_err();
            assert!(
                problem.starts_with("The MCP server \"docs\" is not used: "),
                "{problem}"
            );
            assert!(problem.contains(said), "{problem}");
        }
    }

    #[test]
    fn the_secret_of_a_client_is_not_printed() {
        let oauth = json!({"clientId": "flemma", "clientSecret": "${WHERE}", "scopes": ["read"]});
        let spec = read_one(json!({"url": "https://h/mcp", "oauth": oauth})).unwrap();
        let Reach::Http { oauth, .. } = &spec.reach else {
            panic!("it has a URL");
        };
        assert_eq!(oauth.id.as_deref(), Some("flemma"));
        assert_eq!(oauth.secret, Some("/srv".to_owned().into()));
        assert!(!format!("{spec:?}").contains("/srv"));
    }

    #[test]
    fn a_project_file_needs_a_table_of_servers() {
        assert!(
            project_table(r#"{"mcpServers":{"a":{"command":"b"}}}"#)
                .unwrap()
                .contains_key("a")
        );
        assert!(project_table("\u{feff}{\"mcpServers\":{}}").is_ok());
        assert!(project_table("{}").unwrap_err().contains("mcpServers"));
        assert!(project_table("{").is_err());
    }

    fn identity(origin: &str, name: &str, written: Value, token: &str) -> Identity {
        let variable = |_: &str| Some(token.to_owned());
        let table = Map::from_iter([(name.to_owned(), written)]);
        read(&table, origin, &variable).0.pop().unwrap().identity
    }

    #[test]
    fn variable_values_do_not_change_the_identity() {
        for written in [
            json!({"command": "a", "env": {"TOKEN": "${TOKEN}"}}),
            json!({"command": ["a", "--key=${TOKEN}"], "cwd": "/${TOKEN}"}),
            json!({"url": "https://h/mcp?key=${TOKEN}", "headers": {"Authorization": "Bearer ${TOKEN}"}}),
        ] {
            let monday = identity("file", "docs", written.clone(), "1");
            assert_eq!(monday, identity("file", "docs", written, "2"));
        }
        let with = |more: Value| {
            let mut written = json!({"command": "a"});
            written
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            identity("file", "docs", written, "")
        };
        assert_eq!(with(json!({})), with(json!({"timeout": 9})));
        assert_eq!(with(json!({})), with(json!({"env": {"X": "1"}})));
    }

    #[test]
    fn file_name_and_target_make_the_identity() {
        let a = json!({"command": "a", "args": ["b"]});
        let known = identity("file", "docs", a.clone(), "");
        assert_eq!(
            known,
            identity("file", "docs", json!({"command": ["a", "b"]}), "")
        );
        for other in [
            identity("other", "docs", a.clone(), ""),
            identity("file", "other", a, ""),
            identity("file", "docs", json!({"command": ["a b"]}), ""),
            identity("file", "docs", json!({"command": ["a", "${B}"]}), "b"),
            identity("file", "docs", json!({"url": "http://a"}), ""),
        ] {
            assert_ne!(known, other);
        }
    }
}

//! The places where a key may be stored, in the order in which they are asked, and the command
//! for each.
//!
//! Runs nothing. Looks for keys under the names (`service` and `key`) that the reference
//! implementation uses, so keys that were stored for it are found.

use platform::places::SecretStore;

/// A key that is neither in `setup()` nor in the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The provider's name.
    pub provider: String,
    /// The environment variable that was not set.
    pub variable: String,
    /// The user's own program that prints the key, with its arguments.
    pub command: Option<Vec<String>>,
    /// True if nothing can be sent without it. Only then is the system's own store asked.
    pub needed: bool,
}

/// A program that may know a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The Secret Service of a Linux desktop.
    SecretService,
    /// The keychain of macOS.
    Keychain,
    /// The user's own program.
    Command(Vec<String>),
    /// Google's program, for a token that is valid for an hour.
    Gcloud,
}

/// The provider whose key is a token of Google Cloud.
const VERTEX: &str = "vertex";

/// Returns the places to ask on this system, in order.
pub(super) fn places(wanted: &Wanted) -> Vec<Place> {
    places_with(SecretStore::HERE, wanted)
}

fn places_with(store: Option<SecretStore>, wanted: &Wanted) -> Vec<Place> {
    let is_vertex = wanted.provider == VERTEX;
    let store = store.map(|store| match store {
        SecretStore::Keychain => Place::Keychain,
        SecretStore::SecretService => Place::SecretService,
    });
    // Vertex has no permanent key that could be stored, only tokens.
    let store = store.filter(|_| wanted.needed && !is_vertex);
    let command = wanted.command.clone().map(Place::Command);
    let gcloud = is_vertex.then_some(Place::Gcloud);
    [store, command, gcloud].into_iter().flatten().collect()
}

/// Returns how a user can make the key of `provider` available, as a phrase after "or".
pub fn how_to_store(provider: &str) -> String {
    if provider == VERTEX {
        return "run `gcloud auth login`".to_owned();
    }
    match SecretStore::HERE {
        Some(SecretStore::Keychain) => {
            format!("store it with `security add-generic-password -s {provider} -a api -w`")
        }
        Some(SecretStore::SecretService) => format!(
            "store it with `secret-tool store --label={provider} service {provider} key api`"
        ),
        None => format!("set parameters.{provider}.api_key_command to a program that prints it"),
    }
}

impl Place {
    /// Returns the program and its arguments.
    pub(super) fn argv(&self, wanted: &Wanted) -> Vec<String> {
        let provider = wanted.provider.as_str();
        let words: &[&str] = match self {
            Self::Command(argv) => return argv.clone(),
            Self::SecretService => &["secret-tool", "lookup", "service", provider, "key", "api"],
            Self::Keychain => &[
                "security",
                "find-generic-password",
                "-s",
                provider,
                "-a",
                "api",
                "-w",
            ],
            Self::Gcloud => &["gcloud", "auth", "print-access-token"],
        };
        words.iter().map(|&word| word.to_owned()).collect()
    }

    /// Returns the place's name, which is followed by what is wrong with it.
    pub(super) fn subject(&self, wanted: &Wanted) -> String {
        match self {
            Self::SecretService => format!("secret-tool (service {}, key api)", wanted.provider),
            Self::Keychain => format!("security (service {}, account api)", wanted.provider),
            Self::Command(argv) => format!(
                "parameters.{}.api_key_command ({})",
                wanted.provider,
                argv.first().map_or("empty", String::as_str)
            ),
            Self::Gcloud => "gcloud auth print-access-token".to_owned(),
        }
    }

    /// Returns where a key from here comes from, as a phrase after "Set".
    pub(super) fn source(&self, wanted: &Wanted) -> String {
        let provider = &wanted.provider;
        match self {
            Self::SecretService => {
                format!("the key in the Secret Service (service {provider}, key api)")
            }
            Self::Keychain => format!("the key in the keychain (service {provider}, account api)"),
            Self::Command(_) => format!("the key from parameters.{provider}.api_key_command"),
            Self::Gcloud => "a login for the token of gcloud".to_owned(),
        }
    }

    /// Returns true if its keys are valid for an hour only.
    pub(super) fn is_token(&self) -> bool {
        matches!(self, Self::Gcloud)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(provider: &str, command: Option<&str>, needed: bool) -> Wanted {
        Wanted {
            provider: provider.to_owned(),
            variable: "KEY".to_owned(),
            command: command.map(|it| vec![it.to_owned(), "show".to_owned()]),
            needed,
        }
    }

    #[track_caller]
    fn check(store: Option<SecretStore>, wanted: &Wanted, programs: &[&str]) {
        let places = places_with(store, wanted);
        let argvs: Vec<String> = places
            .iter()
            .map(|place| place.argv(wanted).join(" "))
            .collect();
        assert_eq!(argvs, programs);
    }

    #[test]
    fn the_systems_store_is_asked_before_the_users_program() {
        check(
            Some(SecretStore::SecretService),
            &wanted("anthropic", Some("pass"), true),
            &["secret-tool lookup service anthropic key api", "pass show"],
        );
        check(
            Some(SecretStore::Keychain),
            &wanted("openai", None, true),
            &["security find-generic-password -s openai -a api -w"],
        );
        check(None, &wanted("openai", Some("pass"), true), &["pass show"]);
    }

    #[test]
    fn a_server_without_a_key_gets_one_only_from_the_users_command() {
        check(
            Some(SecretStore::SecretService),
            &wanted("ollama", None, false),
            &[],
        );
        check(
            Some(SecretStore::SecretService),
            &wanted("ollama", Some("pass"), false),
            &["pass show"],
        );
    }

    #[test]
    fn vertex_uses_a_token_from_gcloud() {
        check(
            Some(SecretStore::SecretService),
            &wanted("vertex", None, true),
            &["gcloud auth print-access-token"],
        );
        assert!(Place::Gcloud.is_token());
    }
}

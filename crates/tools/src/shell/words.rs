//! Words of a command, as the shell would hand them to a program.
//!
//! Pure. Only words whose value stands in the text: nothing is expanded.

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// What the program gets, but for file names in place of a pattern.
    pub value: String,
    /// Whether it stands there as it is: no quotes, no backslash.
    pub is_plain: bool,
    /// Whether files whose names begin as they like may take its place, so that one of
    /// them could be an option.
    pub is_open: bool,
}

/// Collects a word piece by piece.
#[derive(Debug)]
pub(super) struct Builder(Word);

impl Builder {
    pub(super) fn new() -> Self {
        Self(Word {
            value: String::new(),
            is_plain: true,
            is_open: false,
        })
    }

    pub(super) fn finish(self) -> Word {
        self.0
    }

    /// A piece in quotes, without them.
    pub(super) fn quoted(&mut self, text: &str) {
        self.0.is_plain = false;
        self.0.value.push_str(text);
    }

    /// A piece in double quotes, in which a backslash means something before a few
    /// characters.
    pub(super) fn double_quoted(&mut self, text: &str) -> Result<(), &'static str> {
        let mut characters = text.chars().peekable();
        let mut value = String::new();
        while let Some(character) = characters.next() {
            match (character, characters.peek()) {
                // Behind a dollar that expands nothing stands none of its own signs.
                ('$', None | Some(' ' | ')' | '|' | '/')) => value.push('$'),
                ('`' | '$', _) => return Err("an expansion"),
                ('\\', Some('$' | '`' | '"' | '\\')) => value.extend(characters.next()),
                ('\\', Some('\n') | None) => return Err("a continued line"),
                (other, _) => value.push(other),
            }
        }
        self.quoted(&value);
        Ok(())
    }

    /// A piece without quotes.
    pub(super) fn bare(&mut self, text: &str) -> Result<(), &'static str> {
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    None | Some('\n') => return Err("a continued line"),
                    Some(escaped) => self.quoted(escaped.encode_utf8(&mut [0; 4])),
                },
                '$' | '`' => return Err("an expansion"),
                '"' | '\'' | '(' | ')' | '<' | '>' | '|' | '&' | ';' => {
                    return Err("something that cannot be read for certain");
                }
                '*' | '?' | '[' => {
                    self.0.is_open |= self.0.value.is_empty();
                    self.0.value.push(character);
                }
                _ => self.0.value.push(character),
            }
        }
        Ok(())
    }
}

/// Whether braces in a word without quotes would make several words of it.
pub(super) fn has_braces(text: &str) -> bool {
    text != "{}" && text.contains(['{', '}'])
}

/// Folders that are no files, and those whose text is a secret.
const SYSTEM: [&str; 2] = ["proc", "sys"];
const SECRET: [&str; 8] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".netrc",
    ".git-credentials",
    ".password-store",
];

/// What an argument gives away as a path, if it does.
pub(super) fn private(argument: &str) -> Option<&'static str> {
    let path = argument
        .rsplit_once('=')
        .map_or(argument, |(_, value)| value);
    let mut parts = path.split('/').filter(|it| !it.is_empty() && *it != ".");
    let leads_out = path.starts_with('/') || parts.clone().any(|it| it == "..");
    let is_device = path.starts_with('/') && parts.clone().next() == Some("dev");
    if (leads_out && parts.clone().any(|it| SYSTEM.contains(&it)))
        || (is_device && path != "/dev/null")
    {
        return Some("show what programs keep to themselves");
    }
    let is_secret = |part: &str| SECRET.contains(&part) || part.starts_with("id_rsa");
    parts
        .any(|part| is_secret(part.trim_end_matches(['*', '?'])))
        .then_some("show keys and passwords")
}

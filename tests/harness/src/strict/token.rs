//! Opaque tokens that a service issues and later reads: signatures of thinking and encrypted
//! reasoning. They hold what they are bound to, so that checking them needs no store.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::{Value as Json, json};

/// An account. Some models only read the thinking that was issued for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account(String);

impl Account {
    pub(super) fn named(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// What a token is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) account: Account,
    pub(super) model: String,
    /// Digest of everything before the block.
    pub(super) prefix: u64,
    /// Digest of the block's text.
    pub(super) text: u64,
    /// Number that makes the token unique.
    pub(super) serial: String,
}

impl Token {
    /// Spells the token with digits and letters that are also valid Base64.
    pub(super) fn spell(&self) -> String {
        let fields = json!([
            self.account.0,
            self.model,
            format!("{:016x}", self.prefix),
            format!("{:016x}", self.text),
            self.serial,
        ]);
        let mut bytes = fields.to_string().into_bytes();
        // Four characters of Base64 are a group.
        if bytes.len() % 2 == 1 {
            bytes.push(b' ');
        }
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads a token. Returns `None` if no service issued it.
    pub(super) fn read(spelled: &str) -> Option<Self> {
        let digits = spelled.as_bytes();
        let pairs = digits.chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        });
        let bytes: Vec<u8> = pairs.collect::<Option<_>>()?;
        let fields: Json = serde_json::from_slice(&bytes).ok()?;
        let field = |at: usize| fields.get(at)?.as_str();
        let digest = |at: usize| u64::from_str_radix(field(at)?, 16).ok();
        Some(Self {
            account: Account::named(field(0)?),
            model: field(1)?.to_owned(),
            prefix: digest(2)?,
            text: digest(3)?,
            serial: field(4)?.to_owned(),
        })
    }
}

/// What the signature of a summary is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summarized {
    /// True if the model that wrote it binds its thinking.
    pub(super) preserves: bool,
    /// Digest of `system` and `tools` of its request.
    pub(super) top: u64,
    /// Digest of the whole request.
    pub(super) prefix: u64,
    /// The last speaker in the request.
    pub(super) last: String,
    /// Digest of the summary.
    pub(super) text: u64,
}

impl Summarized {
    pub(super) fn spell(&self) -> String {
        let token = Token {
            account: Account::named("summary"),
            model: self.last.clone(),
            prefix: self.prefix,
            text: self.text,
            serial: format!("{} {:x}", self.preserves, self.top),
        };
        token.spell()
    }

    /// Reads a signature. Returns `None` if no service issued it.
    pub(super) fn read(spelled: &str) -> Option<Self> {
        let token = Token::read(spelled)?;
        let (preserves, top) = token.serial.split_once(' ')?;
        Some(Self {
            preserves: preserves == "true",
            top: u64::from_str_radix(top, 16).ok()?,
            prefix: token.prefix,
            last: token.model,
            text: token.text,
        })
    }
}

/// The digest of a text.
pub(super) fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

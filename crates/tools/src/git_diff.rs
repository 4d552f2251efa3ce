//! The uncommitted changes of a Git repository as a diff.
//!
//! Runs `git`, but nothing that the repository configures: no hook, filter, external diff,
//! text conversion, file system monitor, or transport. Shows only what is below one folder.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use std::{fmt, io};

use chat::references::DiffScope;
use platform::paths::{self, canonicalize};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

use crate::process::Program;
use crate::secrets::Secrets;

/// Longest time that one run of Git may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of Git's other outputs that are read.
const SHORT: u64 = 64 * 1024;
/// Maximum number of new files that are named.
const NAMES: usize = 100;
/// Arguments before the command: nothing is started, nothing is written.
const QUIET: [&str; 8] = [
    "git",
    "--no-pager",
    "--no-optional-locks",
    "--literal-pathspecs",
    "-c",
    // The repository's configuration may name a program here, which Git would run.
    "core.fsmonitor=false",
    "-c",
    // Otherwise names outside of ASCII are quoted as octal numbers.
    "core.quotePath=false",
];
/// Arguments that make the output independent of the configuration.
const PLAIN: [&str; 11] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    // Each file is a section with one name, so that secrets are recognized.
    "--no-renames",
    "--relative",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    // Git would run in the submodules, with their configuration.
    "--ignore-submodules=dirty",
    "--submodule=short",
    "--patch",
];
/// A partial clone would fetch what it lacks with programs that the repository names.
const OFFLINE: [(&str, &str); 3] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
];

/// A diff as Git prints it, and the new files that are not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitDiff {
    /// The folder whose changes it shows; its paths are relative to this.
    pub folder: PathBuf,
    /// The diff.
    pub bytes: Vec<u8>,
    /// Files that Git does not track, at most 100.
    pub untracked: Vec<String>,
}

/// Why there is no diff. Displayed after the reference: "@diff needs Git, …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitProblem {
    /// There is no `git`.
    Missing,
    /// The folder is in no work tree; with Git's own words.
    NoRepository(PathBuf, String),
    /// The repository's files are elsewhere.
    Elsewhere(PathBuf),
    /// Its filter has a name that cannot be overridden.
    Filter(String),
    /// It is longer than the limit.
    TooLarge(u64),
    /// Git took too long.
    Slow,
    /// Git failed, with its own words.
    Failed(String),
}

impl fmt::Display for GitProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("needs Git, which is not installed."),
            Self::NoRepository(folder, why) => write!(
                f,
                "needs a Git repository, but {} is in none ({why}).",
                paths::visible(folder)
            ),
            Self::Elsewhere(root) => write!(
                f,
                "is not sent, because the files of this repository are elsewhere, in {}.",
                paths::visible(root)
            ),
            Self::Filter(name) => write!(
                f,
                "is not sent, because the repository sets \"{}\", which runs a program.",
                name.escape_debug()
            ),
            Self::TooLarge(limit) => write!(
                f,
                "makes the files of this message larger than {} MB.",
                limit.div_ceil(1024 * 1024)
            ),
            Self::Slow => write!(f, "was given up: Git took longer than {PATIENCE:?}."),
            Self::Failed(why) => write!(f, "failed: {why}."),
        }
    }
}

impl From<io::Error> for GitProblem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::TimedOut => Self::Slow,
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Returns the changes below a folder.
///
/// # Errors
///
/// There is no Git, no repository, or more than `limit` bytes.
pub async fn git_diff(folder: &Path, scope: &DiffScope, limit: u64) -> Result<GitDiff, GitProblem> {
    let folder = canonicalize(folder)?;
    let git = Git::of(&folder).await?;
    let base = match scope {
        DiffScope::Staged => vec!["--cached".to_owned()],
        DiffScope::Unstaged => Vec::new(),
        _ => vec![git.last_commit().await?],
    };
    let options = PLAIN.map(str::to_owned).into_iter().chain(base);
    let here = ["--", "."].map(str::to_owned);
    let arguments: Vec<String> = options.chain(here).collect();
    // One byte more shows that the diff is longer than the limit.
    let ran = git.run(&arguments, limit + 1).await?;
    if ran.stdout.len() as u64 > limit {
        return Err(GitProblem::TooLarge(limit));
    }
    ran.check()?;
    let untracked = match scope {
        DiffScope::Staged => Vec::new(),
        _ => git.untracked().await?,
    };
    Ok(GitDiff {
        bytes: ran.stdout,
        untracked,
        folder,
    })
}

/// Runs Git in a folder of a repository.
struct Git<'a> {
    folder: &'a Path,
    /// Options that disable the repository's filters.
    filters: Vec<String>,
}

impl<'a> Git<'a> {
    /// Checks the repository of a folder.
    async fn of(folder: &'a Path) -> Result<Self, GitProblem> {
        let mut git = Self {
            folder,
            filters: Vec::new(),
        };
        // Neither this command nor the `config` that lists the filters runs one.
        let root = git.short(&["rev-parse", "--show-toplevel"]).await?;
        if !root.status.success() {
            return Err(GitProblem::NoRepository(folder.to_owned(), root.words()));
        }
        // `core.worktree` can name any folder, such as the home folder.
        let root = PathBuf::from(String::from_utf8_lossy(&root.stdout).trim_end());
        if !folder.starts_with(&root) {
            return Err(GitProblem::Elsewhere(root));
        }
        git.filters = git.without_filters().await?;
        Ok(git)
    }

    /// Returns the options that disable the filters that the repository itself defines. The
    /// user's own, such as that of Git LFS, stay.
    async fn without_filters(&self) -> Result<Vec<String>, GitProblem> {
        let names = ["config", "--show-scope", "-z", "--name-only"];
        let names = [&names[..], &["--get-regexp", r"^filter\."]].concat();
        let listed = self.short(&names).await?;
        // 1: there are none.
        // An incomplete list could lack a filter.
        if !matches!(listed.status.code(), Some(0 | 1)) || listed.stdout.len() as u64 >= SHORT {
            return Err(GitProblem::Failed(listed.words()));
        }
        let fields: Vec<String> = listed
            .stdout
            .split(|byte| *byte == 0)
            .map(|field| String::from_utf8_lossy(field).into_owned())
            .collect();
        let mut options = Vec::new();
        for pair in fields.chunks_exact(2) {
            let (scope, name) = (pair[0].as_str(), &pair[1]);
            if matches!(scope, "system" | "global" | "command") {
                continue;
            }
            let driver = name.rsplit_once('.').map_or(name.as_str(), |it| it.0);
            // Git takes what follows the first `=` as the value.
            if driver.contains(['=', '\n', char::REPLACEMENT_CHARACTER]) {
                return Err(GitProblem::Filter(name.clone()));
            }
            // With `required`, Git would fail without the filter.
            for setting in ["clean=", "smudge=", "process=", "required=false"] {
                options.extend(["-c".to_owned(), format!("{driver}.{setting}")]);
            }
        }
        Ok(options)
    }

    /// Returns the name of the last commit; before the first one, that of no files at all.
    async fn last_commit(&self) -> Result<String, GitProblem> {
        let head = self
            .short(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
            .await?;
        let found = if head.status.success() {
            head
        } else {
            // The name of the empty tree depends on the hash function of the repository.

            self.short(&["hash-object", "-t", "tree", "--stdin"])
                .await?
        };
        found.check()?;
        Ok(String::from_utf8_lossy(&found.stdout).trim().to_owned())
    }

    async fn untracked(&self) -> Result<Vec<String>, GitProblem> {
        let list = ["ls-files", "--others", "--exclude-standard", "--directory"];
        let listed = self.short(&[&list[..], &["-z"]].concat()).await?;
        listed.check()?;
        let names = listed.stdout.split(|byte| *byte == 0);
        let names = names.filter(|it| !it.is_empty()).take(NAMES);
        Ok(names
            .map(|it| String::from_utf8_lossy(it).into_owned())
            .collect())
    }

    async fn short(&self, arguments: &[&str]) -> Result<Ran, GitProblem> {
        let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
        self.run(&arguments, SHORT).await
    }

    /// Runs Git and reads at most `limit` bytes.
    async fn run(&self, arguments: &[String], limit: u64) -> Result<Ran, GitProblem> {
        let quiet = QUIET.map(str::to_owned);
        let argv = [&quiet[..], &self.filters, arguments].concat();
        let environment = OFFLINE.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut program = Program::converse(&argv, &environment, Some(self.folder))?;
        // Git must not wait for input. For `hash-object`, empty input is the empty tree.
        drop(program.stdin.take());
        let (stdout, stderr) = (program.stdout.take(), program.stderr.take());
        let ran = timeout(PATIENCE, async {
            let (stdout, stderr) = tokio::join!(read(stdout, limit), read(stderr, SHORT));
            let (stdout, stderr) = (stdout?, stderr?);
            // Dropping the pipe ends a Git that still writes.
            let status = program.wait().await?;
            Ok::<_, io::Error>(Ran {
                status,
                stdout,
                stderr,
            })
        });
        let ran = ran.await.map_err(|_| GitProblem::Slow)?;
        program.stop().await;
        Ok(ran?)
    }
}

/// The output of Git.
struct Ran {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Ran {
    fn check(&self) -> Result<(), GitProblem> {
        if self.status.success() {
            Ok(())
        } else {
            Err(GitProblem::Failed(self.words()))
        }
    }

    /// Returns the first line of Git's messages.
    fn words(&self) -> String {
        let stderr = String::from_utf8_lossy(&self.stderr);
        let line = stderr.lines().next().unwrap_or_default();
        let line = line.trim_end_matches('.').escape_debug().to_string();
        if line.is_empty() {
            self.status.to_string()
        } else {
            line
        }
    }
}

async fn read(stream: Option<impl AsyncRead + Unpin>, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(limit).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

// The sections of a diff, one for each file, without those of secret files.

/// Beginnings of the first line of a section. A line of a file begins with ` `, `+`, or `-`.
const HEADERS: [&[u8]; 3] = [b"diff --git ", b"diff --cc ", b"diff --combined "];

/// A diff as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffText {
    /// The diff, and remarks about what is not in it.
    pub text: String,
    /// The secret files that are left out.
    pub left_out: Vec<String>,
}

/// Returns a diff without the sections of secret files. Follows links.
pub fn without_secrets(diff: &GitDiff, secrets: &Secrets) -> DiffText {
    let mut kept = Vec::new();
    let mut left_out = Vec::new();
    for section in sections(&diff.bytes) {
        let Some(header) = section.split(|byte| *byte == b'\n').next() else {
            continue;
        };
        match secret(header, &diff.folder, secrets) {
            None => kept.extend_from_slice(section),
            Some(name) => left_out.push(name),
        }
    }
    let mut text = String::from_utf8_lossy(&kept).into_owned();
    if text.is_empty() && left_out.is_empty() {
        text.push_str("There are no changes.\n");
    }
    if !left_out.is_empty() {
        text += &format!(
            "Left out, because it may be secret: {}\n",
            left_out.join(", ")
        );
    }
    if !diff.untracked.is_empty() {
        text += &format!(
            "New files, not in this diff: {}\n",
            diff.untracked.join(", ")
        );
    }
    DiffText { text, left_out }
}

/// Splits a diff before each header.
fn sections(diff: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in diff.split_inclusive(|byte| *byte == b'\n') {
        if at > start && HEADERS.iter().any(|header| line.starts_with(header)) {
            found.push(&diff[start..at]);
            start = at;
        }
        at += line.len();
    }
    if start < diff.len() {
        found.push(&diff[start..]);
    }
    found
}

/// Returns the name of a section's file if it is secret, or if no name can be read.
fn secret(header: &[u8], folder: &Path, secrets: &Secrets) -> Option<String> {
    // Only the names of files with conflicts precede the first header.
    let is_header = HEADERS.iter().any(|it| header.starts_with(it));
    let name = is_header.then(|| name(header))?;
    let shown = String::from_utf8_lossy(header).into_owned();
    // A name that cannot be read may be that of a secret.
    let Some(name) = name else {
        return Some(shown);
    };
    let path = folder.join(&name);
    secrets.find(&path).map(|_| name.display().to_string())
}

/// Returns the path in a header. Both names of `diff --git a/x b/x` are the same, as there are
/// no renames.
fn name(header: &[u8]) -> Option<PathBuf> {
    let rest = HEADERS.iter().find_map(|it| header.strip_prefix(*it))?;
    let name = if header.starts_with(HEADERS[0]) {
        // Both names have the same length, with a space between them.
        let first = &rest[..rest.len().checked_sub(1)? / 2];
        let second = &rest[rest.len() - first.len()..];
        let first = plain(first)?.strip_prefix(b"a/")?.to_vec();
        let second = plain(second)?.strip_prefix(b"b/")?.to_vec();
        (first == second).then_some(first)?
    } else {
        plain(rest)?
    };
    // A name that is not UTF-8 cannot be checked, so the section is left out.
    Some(PathBuf::from(String::from_utf8(name).ok()?))
}

/// Decodes a name, which Git quotes if it contains quotes or control characters.
fn plain(written: &[u8]) -> Option<Vec<u8>> {
    let Some(inner) = written.strip_prefix(b"\"") else {
        return Some(written.to_vec());
    };
    let mut inner = inner.strip_suffix(b"\"")?.iter().copied();
    let mut name = Vec::new();
    while let Some(byte) = inner.next() {
        if byte != b'\\' {
            name.push(byte);
            continue;
        }
        name.push(match inner.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            // Three octal digits are one byte.
            first @ b'0'..=b'3' => {
                let (second, third) = (inner.next()?, inner.next()?);
                let digit = |byte: u8| byte.checked_sub(b'0').filter(|it| *it < 8);
                digit(first)? * 64 + digit(second)? * 8 + digit(third)?
            }
            other => other,
        });
    }
    Some(name)
}

#[cfg(test)]
mod tests;

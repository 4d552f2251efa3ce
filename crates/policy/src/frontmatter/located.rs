//! Errors about invalid options that keep their line on the way through Lua.

use mlua::Lua;

use super::vm::CHUNK;
use crate::options::InvalidOption;

/// An invalid option and its line.
#[derive(Debug)]
pub struct Located {
    /// The error.
    pub invalid: InvalidOption,
    /// Line of the file, if Lua knew it.
    pub line: Option<usize>,
}

impl std::fmt::Display for Located {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.invalid.fmt(f)
    }
}

impl std::error::Error for Located {}

/// Returns the value, or an error for Lua that contains the current line.
///
/// # Errors
///
/// The option is invalid.
pub fn located<T>(lua: &Lua, outcome: Result<T, InvalidOption>) -> mlua::Result<T> {
    outcome.map_err(|invalid| {
        mlua::Error::external(Located {
            invalid,
            line: line_here(lua),
        })
    })
}

/// Returns the line of the frontmatter that is running. The chunk was loaded after as many empty
/// lines as precede it in the file.
pub fn line_here(lua: &Lua) -> Option<usize> {
    // Our functions are called through a few frames of the engine; the nearest frame of the
    // document is below them.
    (0..16)
        .map_while(|level| {
            lua.inspect_stack(level, |debug| {
                // An expression has lines of its own, which are not the file's.
                let ours = debug.source().source.as_deref() == Some(CHUNK);
                debug.current_line().filter(|_| ours)
            })
        })
        .flatten()
        .next()
}

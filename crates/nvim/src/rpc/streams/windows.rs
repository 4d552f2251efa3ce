use std::io;

use super::{Input, Output};

pub(super) fn has_unread() -> bool {
    false
}

// Neovim's pipes can't be polled: it opens them for blocking reads and writes.

pub(super) fn input() -> io::Result<Input> {
    Ok(Box::new(tokio::io::stdin()))
}

pub(super) fn output() -> io::Result<Output> {
    Ok(Box::new(tokio::io::stdout()))
}

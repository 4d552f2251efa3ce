//! Numbers that Neovim gives to buffers and windows.

/// Neovim's number of a buffer.
pub type BufferId = i64;
/// Neovim's number of a window.
pub type WindowId = i64;

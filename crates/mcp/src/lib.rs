//! The Model Context Protocol, both ways: our tools for other programs, and the tools
//! of other programs for our models.

//! What a user does in a `.chat` buffer and sees there, each test from a document
//! before, over keys, to a document after: a real Neovim with a screen, the real
//! host, a scripted provider on the loopback. The tests know keys, text and the
//! wire, and nothing of how the product is made.

#![allow(clippy::unwrap_used)]

mod approval;
mod autopilot;
mod bad_files;
mod bad_hosts;
mod chaos;
mod commands;
mod credentials;
mod cycle;
mod demo;
mod editor_busy;
mod editor_leaves;
mod every_kind;
mod faults;
mod files;
mod four_protocols;
mod frontmatter;
mod gemini;
mod host_dies;
mod local;
mod lua_sources;
mod lua_tools;
mod malicious;
mod mcp_asks;
mod mcp_client;
mod mcp_document;
mod mcp_manual;
mod mcp_serve;
mod meanwhile;
mod mirror;
mod misuse;
mod on_demand;
mod opening;
mod origin;
mod outside;
mod parameters;
mod preview;
mod processes;
mod random_keys;
mod references;
mod refusals;
mod requests;
mod resolvers;
mod responsive;
mod retries;
mod run_command;
mod sandbox;
mod script_chats;
mod script_tools;
mod send;
mod send_stops;
mod shell;
mod shell_safe;
mod shown;
mod stage;
mod steering;
mod step_tools;
mod subcommands;
mod switch;
mod text_tools;
mod tls;
mod tool_command;
mod traces;
mod trust;
mod tutor;
mod two_editors;
mod undo;
mod unsaid;
mod usage;
mod while_it_runs;
mod while_it_streams;
mod wire;

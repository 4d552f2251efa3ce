//! Conversations of a program with a scripted provider on the loopback, as lists of events.
#![allow(clippy::unwrap_used)]

mod approvals;
mod cancelling;
mod limits;
mod models;
mod outside;
mod refusals;
mod results;
mod stage;
mod steering;
mod weather;
mod web;

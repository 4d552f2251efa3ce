//! Conversations of a program with a scripted provider on the loopback, told as lists of
//! what happened.
#![allow(clippy::unwrap_used)]

mod approvals;
mod cancelling;
mod limits;
mod models;
mod outside;
mod results;
mod stage;
mod steering;
mod weather;

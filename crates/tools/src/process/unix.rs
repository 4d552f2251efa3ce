//! Process groups and sessions, and the leash, which only Linux has.

mod held;
mod leash;
mod orphans;
mod start;
mod tree;
mod watched;

pub(crate) use held::HeldProcesses;
pub(crate) use leash::leash_program;
pub use leash::{LEASH, hold_leash, leash_beside, leash_with};
pub use orphans::end_descendants;
pub(super) use process_wrap::tokio::{ChildWrapper, CommandWrap};
pub(crate) use start::{ProgramStart, Script, program_file};
pub use watched::watched_by;

//! What tests do to the projects that this program knows.

use std::path::Path;
use std::sync::Arc;

use super::{PROJECTS, Phase, Project, TOO_MANY, locked};

/// Forgets a project, as the next program would.
pub(in crate::checkpoints) fn forget(root: &Path) {
    locked(&PROJECTS).remove(root);
}

/// What another program knows of a project, or nothing.
#[derive(Default)]
pub(in crate::checkpoints) struct OtherProgram(Option<Arc<Project>>);

impl OtherProgram {
    /// From now on, this is the other program.
    pub(in crate::checkpoints) fn switch(&mut self, root: &Path) {
        let mut projects = locked(&PROJECTS);
        let new = self.0.take();
        self.0 = projects.remove(root);
        projects.extend(new.map(|it| (root.to_owned(), it)));
    }
}

/// Makes a project have too many files.
pub(in crate::checkpoints) fn outgrow(root: &Path) {
    let project = Project::of(root);
    let mut state = locked(&project.state);
    project.set(&mut state, Phase::Refused(TOO_MANY.to_owned()));
}

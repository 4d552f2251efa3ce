//! `flemma.opt.sandbox` where there is no sandbox: whoever asks for one is told so,
//! and whoever must have one gets nothing run.

use serde_json::Value;

use crate::frontmatter::{Failure, Overrides};

/// What is said at the line.
const NOTHING: &str = "There is no sandbox in this version, so this has no effect: commands run with all of your rights.";

/// Why nothing may run, when the chat does not go without a sandbox.
pub(super) fn missing(overrides: &Overrides) -> Option<Failure> {
    let required = overrides.sandbox.as_ref()?.get("backend")? == "required";
    required.then(|| {
        let line = line(overrides);
        Failure {
            line,
            column: None,
            message: format!(
                "frontmatter line {line}: a sandbox is required, and there is none in this version."
            ),
        }
    })
}

/// The line that nothing can be made of, and what to say there.
pub(super) fn without_effect(overrides: &Overrides) -> Option<(usize, &'static str)> {
    let sandbox = overrides.sandbox.as_ref()?;
    let is_off = *sandbox == Value::Bool(false) || sandbox.get("enabled") == Some(&false.into());
    // To have none is what is asked for then.
    (!is_off).then(|| (line(overrides), NOTHING))
}

fn line(overrides: &Overrides) -> usize {
    overrides.lines.get("sandbox").copied().unwrap_or(1)
}

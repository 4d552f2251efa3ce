/// Programs are searched in the working directory first, and no permission says which folders only
/// an administrator can write to.
pub(super) const REFUSED: Option<&str> = Some("on Windows, no program is known to only read.");

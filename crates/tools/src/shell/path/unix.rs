pub(super) const REFUSED: Option<&str> = None;

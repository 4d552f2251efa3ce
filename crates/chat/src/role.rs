//! The roles of messages and their markers.

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// `@System:`
    System,
    /// `@You:`
    You,
    /// `@Assistant:`
    Assistant,
}

impl Role {
    /// All roles, in the order in which they usually appear.
    pub const ALL: [Role; 3] = [Role::System, Role::You, Role::Assistant];

    /// Returns the role's marker at column 0.
    pub const fn marker(self) -> &'static str {
        match self {
            Role::System => "@System:",
            Role::You => "@You:",
            Role::Assistant => "@Assistant:",
        }
    }
}

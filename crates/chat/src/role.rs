//! The roles of messages and their markers.

/// Whose words a message holds.
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

    /// The role's marker, as it stands at column 0.
    pub const fn marker(self) -> &'static str {
        match self {
            Role::System => "@System:",
            Role::You => "@You:",
            Role::Assistant => "@Assistant:",
        }
    }
}

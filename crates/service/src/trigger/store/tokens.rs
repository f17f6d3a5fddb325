//! Tokens of the HTTP server: who may do what. The store keeps their digests only.

use super::TriggerStore;
use kb_base::value::{Digest, Timestamp};
use kb_engine::journal::JournalError;
use rusqlite::{OptionalExtension, Row, params};

/// What the owner of a token or session may do. Each role includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Read everything.
    Read,
    /// Start, cancel and continue runs; pause, resume and fire triggers.
    Run,
    /// Answer questions and decide approvals.
    Approve,
    /// Enable triggers, create and revoke tokens.
    Admin,
}

impl Role {
    /// All roles, from the least.
    pub const ALL: [Role; 4] = [Role::Read, Role::Run, Role::Approve, Role::Admin];

    /// The name of the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Run => "run",
            Role::Approve => "approve",
            Role::Admin => "admin",
        }
    }

    /// The role with a name.
    pub fn parse(text: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

/// A token without its secret part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// The name that a person gave it; unique among the tokens that are not revoked.
    pub name: String,
    /// What its owner may do.
    pub role: Role,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it ends; `None`: never.
    pub expires_at: Option<Timestamp>,
    /// Whether it was revoked.
    pub revoked: bool,
}

impl TokenRow {
    /// Whether it is accepted at this time.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        !self.revoked && self.expires_at.is_none_or(|expires| now < expires)
    }
}

impl TriggerStore {
    /// Adds a token by the digest of its text. Returns false if a valid one has this name.
    pub fn add_token(&self, hash: &Digest, token: &TokenRow) -> Result<bool, JournalError> {
        let new = self.connection().execute(
            "INSERT INTO tokens (hash, name, role, created_at, expires_at)
             SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (SELECT 1 FROM tokens WHERE name = ?2
             AND revoked = 0 AND (expires_at IS NULL OR expires_at > ?4))",
            params![
                hash.to_string(),
                token.name,
                token.role.as_str(),
                token.created_at.0,
                token.expires_at.map(|at| at.0)
            ],
        )?;
        Ok(new == 1)
    }

    /// All tokens, newest first.
    pub fn tokens(&self) -> Result<Vec<TokenRow>, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(
            "SELECT name, role, created_at, expires_at, revoked FROM tokens
             ORDER BY created_at DESC, rowid DESC",
        )?;
        let rows = query.query_map([], row)?.collect::<Result<Vec<_>, _>>()?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// The token with a digest, whether it is valid or not.
    pub fn token(&self, hash: &Digest) -> Result<Option<TokenRow>, JournalError> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(
            "SELECT name, role, created_at, expires_at, revoked FROM tokens WHERE hash = ?1",
        )?;
        Ok(query.query_row([hash.to_string()], row).optional()?.flatten())
    }

    /// Revokes the tokens with a name. Returns whether there was one.
    pub fn revoke_token(&self, name: &str) -> Result<bool, JournalError> {
        let sql = "UPDATE tokens SET revoked = 1 WHERE name = ?1 AND revoked = 0";
        Ok(self.connection().execute(sql, [name])? > 0)
    }
}

/// `None` for a role that this version does not know: such a token is not valid.
fn row(row: &Row<'_>) -> rusqlite::Result<Option<TokenRow>> {
    let Some(role) = Role::parse(&row.get::<_, String>(1)?) else { return Ok(None) };
    Ok(Some(TokenRow {
        name: row.get(0)?,
        role,
        created_at: Timestamp(row.get(2)?),
        expires_at: row.get::<_, Option<i64>>(3)?.map(Timestamp),
        revoked: row.get(4)?,
    }))
}

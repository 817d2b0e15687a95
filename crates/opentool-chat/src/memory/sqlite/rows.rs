//! The rows of a conversation: written in order, read from the end.

use futures_util::TryStreamExt as _;
use sqlx::SqliteConnection;

use super::error::FileError;
use crate::memory::window::window;
use crate::message::Message;

const SYSTEM: &str = "system";
const USER: &str = "user";

/// Adds rows of role and body behind those that are there.
pub(super) async fn append(
    connection: &mut SqliteConnection,
    conversation: &str,
    rows: impl Iterator<Item = (&'static str, &String)>,
) -> Result<(), FileError> {
    let named = "INSERT INTO conversations (name) VALUES (?) ON CONFLICT DO NOTHING";
    sqlx::query(named).bind(conversation).execute(&mut *connection).await?;
    let (id, mut position): (i64, i64) = sqlx::query_as(
        "SELECT id, coalesce((SELECT max(position) FROM messages WHERE conversation = id), 0)
         FROM conversations WHERE name = ?",
    )
    .bind(conversation)
    .fetch_one(&mut *connection)
    .await?;
    for (role, body) in rows {
        position += 1;
        sqlx::query("INSERT INTO messages (conversation, position, role, body) VALUES (?, ?, ?, ?)")
            .bind(id)
            .bind(position)
            .bind(role)
            .bind(body)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Reads what [`window`] would make of all rows, and few more rows than that.
pub(super) async fn latest(
    connection: &mut SqliteConnection,
    conversation: &str,
    most: usize,
) -> Result<Vec<Message>, FileError> {
    let id: Option<i64> = sqlx::query_scalar("SELECT id FROM conversations WHERE name = ?")
        .bind(conversation)
        .fetch_optional(&mut *connection)
        .await?;
    let Some(id) = id else { return Ok(Vec::new()) };
    let mut reader = RowReader { connection, conversation, id };
    let system = reader.system().await?;
    // Calls and their answers stand between two questions, so what begins with a question can be checked by itself.
    let mut back = most.max(1);
    loop {
        let from = reader.question_before(back).await?;
        // Without what it hides.
        let tail = window(reader.turns(from).await?, usize::MAX);
        if from.is_some() && tail.len() < most {
            // Something was hidden or could not be read, so the window has space for earlier messages.
            back = back.saturating_mul(2);
            continue;
        }
        return Ok(window(system.into_iter().chain(tail).collect(), most));
    }
}

struct RowReader<'a> {
    connection: &'a mut SqliteConnection,
    conversation: &'a str,
    id: i64,
}

/// Position, role and body, which is bytes since a damaged one may be no text.
type Row = (i64, String, Vec<u8>);

impl RowReader<'_> {
    /// The latest system messages that stand together.
    async fn system(&mut self) -> Result<Vec<Message>, FileError> {
        let mut rows = sqlx::query_as::<_, (i64, Vec<u8>)>(
            "SELECT position, CAST(body AS BLOB) FROM messages WHERE conversation = ? AND role = ? ORDER BY position DESC",
        )
        .bind(self.id)
        .bind(SYSTEM)
        .fetch(&mut *self.connection);
        let mut messages = Vec::new();
        let mut next = None;
        while let Some((position, body)) = rows.try_next().await? {
            if next.is_some_and(|next| next != position) {
                break;
            }
            next = Some(position - 1);
            messages.extend(read(self.conversation, position, &body));
        }
        messages.reverse();
        Ok(messages)
    }

    /// The position of the last question that has at least so many messages from it on; none where there are fewer.
    async fn question_before(&mut self, messages: usize) -> Result<Option<i64>, FileError> {
        let skipped = i64::try_from(messages - 1).unwrap_or(i64::MAX);
        let position = sqlx::query_scalar(
            "SELECT max(position) FROM messages WHERE conversation = ?1 AND role = ?2 AND position <= (
                 SELECT position FROM messages WHERE conversation = ?1 AND role <> ?3
                 ORDER BY position DESC LIMIT 1 OFFSET ?4)",
        );
        Ok(position.bind(self.id).bind(USER).bind(SYSTEM).bind(skipped).fetch_one(&mut *self.connection).await?)
    }

    /// The messages from a position on, without the system's and without the turns that cannot be read.
    async fn turns(&mut self, from: Option<i64>) -> Result<Vec<Message>, FileError> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT position, role, CAST(body AS BLOB) FROM messages
             WHERE conversation = ? AND position >= ? AND role <> ? ORDER BY position",
        )
        .bind(self.id)
        .bind(from.unwrap_or(i64::MIN))
        .bind(SYSTEM)
        .fetch_all(&mut *self.connection)
        .await?;
        let mut messages = Vec::with_capacity(rows.len());
        for turn in rows.chunk_by(|_, (_, role, _)| role != USER) {
            let turn = turn.iter().map(|(position, _, body)| read(self.conversation, *position, body));
            messages.extend(turn.collect::<Option<Vec<_>>>().unwrap_or_default());
        }
        Ok(messages)
    }
}

/// Reads a message, and warns where that fails: without it, the conversation would look complete.
fn read(conversation: &str, position: i64, body: &[u8]) -> Option<Message> {
    let message = serde_json::from_slice(body);
    if let Err(error) = &message {
        // The text of the error would quote the message.
        let (kind, column) = (error.classify(), error.column());
        tracing::warn!(
            target: "opentool::chat", conversation, position, ?kind, column,
            "a message of the memory cannot be read: its turn is left out"
        );
    }
    message.ok()
}

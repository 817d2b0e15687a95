//! A store of notes, in memory: tools with state.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use opentool::{tool, toolbox};
use schemars::JsonSchema;
use serde::Serialize;

/// How many notes there may be, so that callers cannot fill the memory.
const MAX_NOTES: usize = 10_000;

/// Notes that last as long as the process.
#[derive(Debug, Default)]
pub(super) struct Notes(Mutex<NoteStore>);

#[derive(Debug, Default)]
struct NoteStore {
    notes: BTreeMap<u64, Note>,
    last_id: u64,
}

/// A note.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Note {
    /// The number to ask for it by.
    id: u64,
    /// What it is called.
    title: String,
    /// What it says.
    text: String,
}

/// A note without its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Heading {
    /// The number to ask for the note by.
    id: u64,
    /// What it is called.
    title: String,
}

/// Why it could not be done. The model reads it.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotesError {
    #[error("there is no note {0}: `list_notes` lists them")]
    NotFound(u64),
    #[error("there are {MAX_NOTES} notes already: delete one first")]
    Full,
}

#[toolbox]
impl Notes {
    /// Write a note down. It is kept until the server stops.
    #[tool(output_name = "id")]
    fn add_note(
        &self,
        /// A few words to find it by.
        #[schemars(length(min = 1, max = 200))]
        title: String,
        /// What to remember.
        #[schemars(length(max = 10_000))]
        text: String,
    ) -> Result<u64, NotesError> {
        let mut store = self.store();
        if store.notes.len() >= MAX_NOTES {
            return Err(NotesError::Full);
        }
        store.last_id += 1;
        let id = store.last_id;
        store.notes.insert(id, Note { id, title, text });
        Ok(id)
    }

    /// List the numbers and titles of all notes, oldest first.
    #[tool(read_only, output_name = "notes")]
    fn list_notes(
        &self,
        /// Only notes whose title or text has this in it, in whatever case.
        containing: Option<&str>,
    ) -> Vec<Heading> {
        let wanted = containing.unwrap_or_default().to_lowercase();
        let store = self.store();
        let matches = |note: &&Note| {
            wanted.is_empty()
                || note.title.to_lowercase().contains(&wanted)
                || note.text.to_lowercase().contains(&wanted)
        };
        let notes = store.notes.values().filter(matches);
        notes.map(|note| Heading { id: note.id, title: note.title.clone() }).collect()
    }

    /// Read a note.
    #[tool(read_only)]
    fn read_note(
        &self,
        /// The number of the note.
        id: u64,
    ) -> Result<Note, NotesError> {
        self.store().notes.get(&id).cloned().ok_or(NotesError::NotFound(id))
    }

    /// Delete a note for good.
    #[tool(destructive)]
    fn delete_note(
        &self,
        /// The number of the note.
        id: u64,
    ) -> Result<(), NotesError> {
        self.store().notes.remove(&id).map(drop).ok_or(NotesError::NotFound(id))
    }
}

impl Notes {
    fn store(&self) -> MutexGuard<'_, NoteStore> {
        // No method leaves the notes half changed, so they are kept after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use opentool::{ErrorKind, testing::Probe};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_note_can_be_written_found_read_and_deleted() {
        let probe = Probe::new(Notes::default());
        probe.call("add_note", json!({ "title": "Milk", "text": "Two bottles" })).await.assert_json(1);
        probe.call("add_note", json!({ "title": "Bread", "text": "Rye" })).await.assert_json(2);
        let headings = json!([{ "id": 1, "title": "Milk" }]);
        probe.call("list_notes", json!({ "containing": "BOTTLE" })).await.assert_json(headings);
        let note = json!({ "id": 1, "title": "Milk", "text": "Two bottles" });
        probe.call("read_note", json!({ "id": 1 })).await.assert_json(note);
        probe.call("delete_note", json!({ "id": 1 })).await.assert_empty();
        probe.call("list_notes", json!({})).await.assert_json(json!([{ "id": 2, "title": "Bread" }]));
    }

    #[tokio::test]
    async fn a_number_is_never_given_twice() {
        let probe = Probe::new(Notes::default());
        let note = json!({ "title": "a", "text": "" });
        probe.call("add_note", note.clone()).await.assert_json(1);
        probe.call("delete_note", json!({ "id": 1 })).await.assert_empty();
        probe.call("add_note", note).await.assert_json(2);
    }

    #[tokio::test]
    async fn a_note_that_is_not_there_can_be_neither_read_nor_deleted() {
        let probe = Probe::new(Notes::default());
        for name in ["read_note", "delete_note"] {
            let answer = probe.call(name, json!({ "id": 7 })).await;
            let message = "there is no note 7: `list_notes` lists them";
            answer.assert_error(ErrorKind::Failed).assert_message(message);
        }
    }

    #[tokio::test]
    async fn a_full_store_and_an_endless_note_are_refused() {
        let notes = Notes::default();
        for _ in 0..MAX_NOTES {
            assert!(notes.add_note("a".to_owned(), String::new()).is_ok());
        }
        let probe = Probe::new(notes);
        let answer = probe.call("add_note", json!({ "title": "a", "text": "" })).await;
        answer.assert_error(ErrorKind::Failed).assert_message("there are 10000 notes already: delete one first");
        let answer = probe.call("add_note", json!({ "title": "", "text": "a".repeat(10_001) })).await;
        answer.assert_error(ErrorKind::InvalidArguments);
    }
}

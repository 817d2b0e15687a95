//! The frames on the two pipes: a header of fixed size and a payload.
//!
//! Every reply carries the nonce of its request. It shows that bytes which a library writes into the pipe by accident (it
//! prints to every descriptor, or closes and reuses one) are no reply, and it bounds what such bytes can do: the worker is
//! ended. Each request has a nonce of its own, so that a reply which a library finds in memory is none to another call. It
//! is no proof against a hostile library: that runs in the worker's address space, where it can read the requests, too, and
//! write frames of its own. A forged frame can only answer calls to that same library.

use std::ops::Range;

use crate::result_size::LARGEST_RESULT;

/// The bytes before a payload.
pub(crate) const HEADER: usize = 24;

/// No request has a longer payload.
pub(crate) const LONGEST_REQUEST: usize = 1 << 30;

/// No reply has a longer payload: a greater length is not from a worker, and is not waited for.
pub(crate) const LONGEST_REPLY: usize = LARGEST_RESULT;

/// A call that the worker is asked for; its payload is the text of the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// Which function of the plan.
    pub(crate) function: u32,
    /// Which call of this worker; its slot on the shared page is part of it.
    pub(crate) id: u64,
    /// What its reply has to carry.
    pub(crate) nonce: u64,
}

/// What a reply's payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ReplyKind {
    /// The JSON result of a call.
    Result = 1,
    /// The JSON of the error of a call.
    Error = 2,
    /// Nothing: the call was given up before it began.
    Skipped = 3,
    /// The library is loaded: the JSON of a [`ReadyMessage`](super::ReadyMessage).
    Ready = 4,
    /// The library cannot be loaded: the reason.
    NotLoaded = 5,
    /// Nothing: after the call, its record on the shared page was not as the worker had left it.
    Damaged = 6,
}

/// What the worker answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) kind: ReplyKind,
    /// [`Notes`](crate::engine::Notes) about a result.
    pub(crate) notes: u8,
    /// The nonce of the request.
    pub(crate) nonce: u64,
    /// Which call; 0 before the first.
    pub(crate) id: u64,
}

/// Bytes that are no reply of this worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidFrame;

impl Request {
    /// Appends the request to what is to be sent.
    pub(crate) fn write(&self, payload: &[u8], out: &mut Vec<u8>) {
        out.reserve(HEADER + payload.len());
        out.extend_from_slice(&length(payload).to_le_bytes());
        out.extend_from_slice(&self.function.to_le_bytes());
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.nonce.to_le_bytes());
        out.extend_from_slice(payload);
    }

    /// Reads the first request of some bytes and says where its payload is; none where bytes are missing.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<(Request, Range<usize>)>, InvalidFrame> {
        let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
        let payload = payload(header, LONGEST_REQUEST)?;
        if bytes.len() < payload.end {
            return Ok(None);
        }
        let request = Request { function: u32_at(header, 4), id: u64_at(header, 8), nonce: u64_at(header, 16) };
        Ok(Some((request, payload)))
    }
}

impl Reply {
    /// Reads the header of the first reply of some bytes and says where its payload is, which may be missing yet; none where
    /// bytes of the header are missing.
    ///
    /// The length is checked as soon as it is there, and the nonce is the caller's to check, so that an invalid payload is never
    /// waited for.
    pub(crate) fn read_header(bytes: &[u8]) -> Result<Option<(Reply, Range<usize>)>, InvalidFrame> {
        let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
        let kind = match header[4] {
            1 => ReplyKind::Result,
            2 => ReplyKind::Error,
            3 => ReplyKind::Skipped,
            4 => ReplyKind::Ready,
            5 => ReplyKind::NotLoaded,
            6 => ReplyKind::Damaged,
            _ => return Err(InvalidFrame),
        };
        let reply = Reply { kind, notes: header[5], nonce: u64_at(header, 8), id: u64_at(header, 16) };
        Ok(Some((reply, payload(header, LONGEST_REPLY)?)))
    }

    /// Reads the first reply of some bytes and says where its payload is; none where bytes are missing.
    pub(crate) fn read(bytes: &[u8], nonce: u64) -> Result<Option<(Reply, Range<usize>)>, InvalidFrame> {
        match Self::read_header(bytes)? {
            Some((reply, _)) if reply.nonce != nonce => Err(InvalidFrame),
            read => Ok(read.filter(|(_, payload)| bytes.len() >= payload.end)),
        }
    }

    /// The bytes that go before a payload.
    pub(crate) fn header(&self, payload: &[u8]) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&length(payload).to_le_bytes());
        header[4] = self.kind as u8;
        header[5] = self.notes;
        header[8..16].copy_from_slice(&self.nonce.to_le_bytes());
        header[16..].copy_from_slice(&self.id.to_le_bytes());
        header
    }
}

/// The length as it is sent; more than [`LONGEST_REQUEST`] was refused before.
fn length(payload: &[u8]) -> u32 {
    u32::try_from(payload.len()).unwrap_or(u32::MAX)
}

fn payload(header: &[u8; HEADER], longest: usize) -> Result<Range<usize>, InvalidFrame> {
    let length = u32_at(header, 0) as usize;
    if length > longest { Err(InvalidFrame) } else { Ok(HEADER..HEADER + length) }
}

fn u32_at(header: &[u8; HEADER], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&header[at..at + 4]);
    u32::from_le_bytes(bytes)
}

fn u64_at(header: &[u8; HEADER], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&header[at..at + 8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_written_is_read_and_the_rest_left() {
        let first = Request { function: 7, id: 9, nonce: 11 };
        let second = Request { function: 0, id: u64::MAX, nonce: u64::MAX };
        let mut bytes = Vec::new();
        first.write(b"{}", &mut bytes);
        second.write(b"", &mut bytes);
        let (read, payload) = Request::read(&bytes).unwrap().unwrap();
        assert_eq!((read, &bytes[payload.clone()]), (first, &b"{}"[..]));
        assert_eq!(Request::read(&bytes[payload.end..]).unwrap().unwrap(), (second, HEADER..HEADER));
        for end in 0..HEADER + 2 {
            assert_eq!(Request::read(&bytes[..end]), Ok(None));
        }
    }

    #[test]
    fn a_reply_without_the_nonce_is_invalid_whatever_its_length() {
        let reply = Reply { kind: ReplyKind::Result, notes: 1, nonce: 42, id: 5 };
        let mut bytes = [&reply.header(b"[1]")[..], b"[1]"].concat();
        assert_eq!(Reply::read(&bytes, 42), Ok(Some((reply, HEADER..HEADER + 3))));
        assert_eq!(Reply::read(&bytes[..HEADER], 43), Err(InvalidFrame));
        bytes[4] = 77;
        assert_eq!(Reply::read(&bytes, 42), Err(InvalidFrame));
        bytes[4] = 1;
        bytes[..4].copy_from_slice(&(LONGEST_REPLY as u32 + 1).to_le_bytes());
        assert_eq!(Reply::read(&bytes, 42), Err(InvalidFrame), "a payload that is too long is not waited for");
        bytes[..4].copy_from_slice(&(LONGEST_REPLY as u32).to_le_bytes());
        assert_eq!(Reply::read(&bytes, 42), Ok(None));
        bytes[..4].fill(0xff);
        assert_eq!(Reply::read(&bytes, 42), Err(InvalidFrame));
        assert_eq!(Reply::read(b"not a frame", 42), Ok(None));
    }
}

//! What goes over the two pipes: a header of fixed size and a payload.
//!
//! Every reply carries a number that only the worker's own code was told, before the library was loaded: what a library
//! writes into the pipe is recognised as not ours.

use std::ops::Range;

/// The bytes before a payload.
pub(crate) const HEADER: usize = 24;

/// No payload is longer. A length beyond it is no length of ours.
pub(crate) const LONGEST: usize = 1 << 30;

/// A call that the worker is asked for; its payload is the text of the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// Which function of the plan.
    pub(crate) function: u32,
    /// Which call of this worker, with its place on the board.
    pub(crate) id: u64,
}

/// What a reply's payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The JSON result of a call.
    Result = 1,
    /// The JSON of the error of a call.
    Error = 2,
    /// Nothing: the call was given up before it began.
    Skipped = 3,
    /// The library is loaded: the JSON of a [`Ready`](super::Ready).
    Ready = 4,
    /// The library cannot be loaded: the reason.
    NotLoaded = 5,
}

/// What the worker answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) kind: Kind,
    /// [`Notes`](crate::engine::Notes) about a result.
    pub(crate) notes: u8,
    /// The number that shows that the worker itself wrote it.
    pub(crate) nonce: u64,
    /// Which call; 0 before the first.
    pub(crate) id: u64,
}

/// Bytes that no worker of ours has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forged;

impl Request {
    /// Appends the request to what is to be sent.
    pub(crate) fn write(&self, payload: &[u8], out: &mut Vec<u8>) {
        out.reserve(HEADER + payload.len());
        out.extend_from_slice(&length(payload).to_le_bytes());
        out.extend_from_slice(&self.function.to_le_bytes());
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(payload);
    }

    /// Reads the first request of some bytes and says where its payload is; none where bytes are missing.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<(Request, Range<usize>)>, Forged> {
        let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
        let payload = payload(header)?;
        if bytes.len() < payload.end {
            return Ok(None);
        }
        let request = Request { function: u32_at(header, 4), id: u64_at(header, 8) };
        Ok(Some((request, payload)))
    }
}

impl Reply {
    /// Reads the first reply of some bytes and says where its payload is; none where bytes are missing.
    ///
    /// The number is checked as soon as it is there, so that a forger's length is never waited for.
    pub(crate) fn read(bytes: &[u8], nonce: u64) -> Result<Option<(Reply, Range<usize>)>, Forged> {
        let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
        let kind = match header[4] {
            1 => Kind::Result,
            2 => Kind::Error,
            3 => Kind::Skipped,
            4 => Kind::Ready,
            5 => Kind::NotLoaded,
            _ => return Err(Forged),
        };
        let reply = Reply { kind, notes: header[5], nonce: u64_at(header, 8), id: u64_at(header, 16) };
        if reply.nonce != nonce {
            return Err(Forged);
        }
        let payload = payload(header)?;
        Ok((bytes.len() >= payload.end).then_some((reply, payload)))
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

/// The length as it is sent; whoever sends more than [`LONGEST`] has refused it before.
fn length(payload: &[u8]) -> u32 {
    u32::try_from(payload.len()).unwrap_or(u32::MAX)
}

fn payload(header: &[u8; HEADER]) -> Result<Range<usize>, Forged> {
    let length = u32_at(header, 0) as usize;
    if length > LONGEST { Err(Forged) } else { Ok(HEADER..HEADER + length) }
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
        let (first, second) = (Request { function: 7, id: 9 }, Request { function: 0, id: u64::MAX });
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
    fn a_reply_without_the_number_is_forged_however_long_it_claims_to_be() {
        let reply = Reply { kind: Kind::Result, notes: 1, nonce: 42, id: 5 };
        let mut bytes = [&reply.header(b"[1]")[..], b"[1]"].concat();
        assert_eq!(Reply::read(&bytes, 42), Ok(Some((reply, HEADER..HEADER + 3))));
        assert_eq!(Reply::read(&bytes[..HEADER], 43), Err(Forged));
        bytes[4] = 77;
        assert_eq!(Reply::read(&bytes, 42), Err(Forged));
        bytes[4] = 1;
        bytes[..4].fill(0xff);
        assert_eq!(Reply::read(&bytes, 42), Err(Forged));
        assert_eq!(Reply::read(b"not a frame", 42), Ok(None));
    }
}

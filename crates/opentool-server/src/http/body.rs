//! Reading the body of a request, under the limits of size, time and of the bytes held for all requests.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body::{Body, Frame};
use memmap2::MmapMut;
use opentool_core::{MemoryBudget, MemoryReservation, OverBudget};
use tokio::time::Sleep;

/// A body that came in one piece and is no larger than this is not counted: it is read at once, so that the limit of calls
/// in flight bounds it already, and small calls are still answered while large bodies fill the budget.
const SMALL: usize = 16 * 1024;

/// The size of the buffer that a connection reads a body into; counted while a body comes in pieces.
const READ_BUFFER: usize = 32 * 1024;

/// The limits of the bodies of requests.
#[derive(Clone, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) size: usize,
    pub(crate) time: Duration,
    pub(crate) budget: MemoryBudget,
}

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// It has more bytes than the limit.
    TooLarge,
    /// All requests together hold as many bytes as they may.
    OverBudget,
    /// It did not arrive in time.
    Timeout,
    /// The connection broke, or its framing is wrong.
    Broken,
}

impl From<OverBudget> for BodyError {
    fn from(OverBudget: OverBudget) -> Self {
        Self::OverBudget
    }
}

/// Reads a body to its end. The reservation in the budget belongs to the bytes: keep it as long as they are used.
pub(crate) async fn read<B: Body<Data = Bytes>>(
    body: B,
    limits: &BodyLimits,
) -> Result<(Bytes, MemoryReservation), BodyError> {
    let hint = body.size_hint();
    if hint.lower() > limits.size as u64 {
        return Err(BodyError::TooLarge);
    }
    let mut body = pin!(body);
    let mut timer = None;
    let unreserved = MemoryReservation::default;
    let Some(first) = next(body.as_mut(), &mut timer, limits).await? else { return Ok((Bytes::new(), unreserved())) };
    if body.is_end_stream() && first.len() <= SMALL.min(limits.size) {
        return Ok((first, unreserved()));
    }
    let most = hint.exact().map_or(limits.size, |exact| exact as usize);
    // Boxed, since few bodies come in pieces, and every request has this future (`scripts/bench http`).
    Box::pin(read_pieces(body, first, most, timer, limits)).await
}

/// Reads a body that comes in pieces and has `most` bytes at most, of which the first is there.
async fn read_pieces<B: Body<Data = Bytes>>(
    mut body: Pin<&mut B>,
    first: Bytes,
    most: usize,
    mut timer: Option<Pin<Box<Sleep>>>,
    limits: &BodyLimits,
) -> Result<(Bytes, MemoryReservation), BodyError> {
    let mut reservation = MemoryReservation::default();
    reservation.grow(&limits.budget, READ_BUFFER)?;
    let mut received = Received::Small(Vec::new());
    let mut piece = Some(first);
    while let Some(bytes) = piece {
        if received.len() + bytes.len() > limits.size {
            return Err(BodyError::TooLarge);
        }
        reservation.grow(&limits.budget, bytes.len())?;
        received.push(&bytes, most).map_err(|_| BodyError::OverBudget)?;
        drop(bytes);
        piece = next(body.as_mut(), &mut timer, limits).await?;
    }
    reservation.shrink(READ_BUFFER);
    Ok((received.into_bytes(), reservation))
}

/// A body as far as it has arrived.
///
/// A large one is not grown on the heap: that would copy it several times and fragment the heap, so that the process would
/// hold far more than its bodies. `scripts/bench attack` checks the peak of memory that this keeps down.
enum Received {
    Small(Vec<u8>),
    Large(Pages),
}

impl Received {
    fn len(&self) -> usize {
        match self {
            Self::Small(bytes) => bytes.len(),
            Self::Large(pages) => pages.len,
        }
    }

    /// Adds a piece of a body that has `most` bytes at most.
    fn push(&mut self, piece: &[u8], most: usize) -> io::Result<()> {
        match self {
            Self::Small(bytes) if bytes.len() + piece.len() <= SMALL => bytes.extend_from_slice(piece),
            Self::Small(bytes) => {
                let mut pages = Pages::new(most.max(bytes.len() + piece.len()))?;
                pages.push(bytes)?;
                pages.push(piece)?;
                *self = Self::Large(pages);
            }
            Self::Large(pages) => pages.push(piece)?,
        }
        Ok(())
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Small(bytes) => bytes.into(),
            Self::Large(pages) => Bytes::from_owner(pages),
        }
    }
}

/// Memory straight from the system: only addresses until bytes are written, and given back as soon as it is dropped.
struct Pages {
    map: MmapMut,
    len: usize,
}

impl Pages {
    fn new(most: usize) -> io::Result<Self> {
        let map = MmapMut::map_anon(most)?;
        // With huge pages the first byte would cost 2 MiB. A system without them refuses, which is fine.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::NoHugePage);
        Ok(Self { map, len: 0 })
    }

    fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        let end = self.len + piece.len();
        let free = self.map.get_mut(self.len..end).ok_or(io::ErrorKind::FileTooLarge)?;
        free.copy_from_slice(piece);
        self.len = end;
        Ok(())
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        &self.map[..self.len]
    }
}

/// Waits for the next piece of data; the timer starts when there is first something to wait for, and runs for the whole body.
async fn next<B: Body<Data = Bytes>>(
    mut body: Pin<&mut B>,
    timer: &mut Option<Pin<Box<Sleep>>>,
    limits: &BodyLimits,
) -> Result<Option<Bytes>, BodyError> {
    poll_fn(|cx: &mut Context<'_>| {
        loop {
            match body.as_mut().poll_frame(cx) {
                Poll::Ready(None) => return Poll::Ready(Ok(None)),
                Poll::Ready(Some(Ok(frame))) => match Frame::into_data(frame) {
                    Ok(data) if data.has_remaining() => return Poll::Ready(Ok(Some(data))),
                    // Trailers and empty pieces.
                    _ => continue,
                },
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(BodyError::Broken)),
                Poll::Pending => {
                    let timer = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limits.time)));
                    return timer.as_mut().poll(cx).map(|()| Err(BodyError::Timeout));
                }
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_body_in_pieces_moves_to_pages_of_its_own_once_it_is_large() {
        let mut received = Received::Small(Vec::new());
        received.push(&[1; SMALL], 2 * SMALL).unwrap();
        assert!(matches!(received, Received::Small(_)));
        received.push(&[2], 2 * SMALL).unwrap();
        assert!(matches!(received, Received::Large(_)));
        received.push(&[3, 3], 2 * SMALL).unwrap();
        assert_eq!(received.len(), SMALL + 3);
        let bytes = received.into_bytes();
        assert_eq!((bytes[SMALL - 1], &bytes[SMALL..]), (1, &[2, 3, 3][..]));
    }
}

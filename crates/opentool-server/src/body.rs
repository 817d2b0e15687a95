//! Reading the body of a request, under the limits of size, time and of the bytes held for all requests.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body::{Body, Frame};
use memmap2::MmapMut;
use tokio::time::Sleep;

use crate::answer::Fault;

/// A body that came in one piece and is no larger than this is not counted: it is read at once, so that the calls in
/// flight bound it already, and it gets through while large bodies fill the budget.
const SMALL: usize = 16 * 1024;

/// What the connection of a body that comes in pieces holds for it besides the body: the buffer it reads into.
const BUFFER: usize = 32 * 1024;

/// What a body may cost.
#[derive(Clone, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) size: usize,
    pub(crate) time: Duration,
    pub(crate) budget: Arc<Budget>,
}

/// How many bytes of bodies are held over all requests, and how many may be.
#[derive(Debug)]
pub(crate) struct Budget {
    held: AtomicUsize,
    most: usize,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { held: AtomicUsize::new(0), most })
    }

    pub(crate) fn held(&self) -> usize {
        self.held.load(Relaxed)
    }

    fn take(&self, bytes: usize) -> bool {
        let fits = |held: usize| held.checked_add(bytes).filter(|held| *held <= self.most);
        self.held.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }
}

/// A share of the budget, given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Share {
    budget: Option<Arc<Budget>>,
    bytes: usize,
}

impl Share {
    pub(crate) fn grow(&mut self, budget: &Arc<Budget>, bytes: usize) -> Result<(), Fault> {
        if !budget.take(bytes) {
            return Err(Fault::over_budget());
        }
        self.budget.get_or_insert_with(|| budget.clone());
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.held.fetch_sub(self.bytes, Relaxed);
        }
    }
}

/// Reads a body to its end; its share of the budget lasts as long as what is made of it.
pub(crate) async fn read<B: Body<Data = Bytes>>(body: B, limits: &BodyLimits) -> Result<(Bytes, Share), Fault> {
    let hint = body.size_hint();
    if hint.lower() > limits.size as u64 {
        return Err(Fault::too_large(limits.size));
    }
    let mut body = pin!(body);
    let mut timer = None;
    let mut share = Share::default();
    let Some(first) = next(body.as_mut(), &mut timer, limits).await? else { return Ok((Bytes::new(), share)) };
    if body.is_end_stream() && first.len() <= SMALL.min(limits.size) {
        return Ok((first, share));
    }
    share.grow(&limits.budget, BUFFER)?;
    let mut held = Held::Small(Vec::new());
    let mut piece = Some(first);
    while let Some(bytes) = piece {
        if held.len() + bytes.len() > limits.size {
            return Err(Fault::too_large(limits.size));
        }
        share.grow(&limits.budget, bytes.len())?;
        let most = hint.exact().map_or(limits.size, |exact| exact as usize);
        held.push(&bytes, most).map_err(|_| Fault::over_budget())?;
        drop(bytes);
        piece = next(body.as_mut(), &mut timer, limits).await?;
    }
    Ok((held.into_bytes(), share))
}

/// A body as far as it has come.
///
/// One that is not small is not grown on the heap: that would copy it again and again, and leave holes there which nobody fills, so
/// that the process would hold far more than the bodies that there are.
enum Held {
    Small(Vec<u8>),
    Large(Pages),
}

impl Held {
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

/// Memory straight from the system: only addresses until bytes have come, and given back at once.
struct Pages {
    map: MmapMut,
    len: usize,
}

impl Pages {
    fn new(most: usize) -> io::Result<Self> {
        let map = MmapMut::map_anon(most)?;
        // The first byte of a huge page would cost all of it. A system that has none refuses, which is as well.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::NoHugePage);
        Ok(Self { map, len: 0 })
    }

    fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        let end = self.len + piece.len();
        let room = self.map.get_mut(self.len..end).ok_or(io::ErrorKind::FileTooLarge)?;
        room.copy_from_slice(piece);
        self.len = end;
        Ok(())
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        &self.map[..self.len]
    }
}

/// Waits for the next piece of data; the timer is made when the client is first waited for, and runs for the whole body.
async fn next<B: Body<Data = Bytes>>(
    mut body: Pin<&mut B>,
    timer: &mut Option<Pin<Box<Sleep>>>,
    limits: &BodyLimits,
) -> Result<Option<Bytes>, Fault> {
    poll_fn(|cx: &mut Context<'_>| {
        loop {
            match body.as_mut().poll_frame(cx) {
                Poll::Ready(None) => return Poll::Ready(Ok(None)),
                Poll::Ready(Some(Ok(frame))) => match Frame::into_data(frame) {
                    Ok(data) if data.has_remaining() => return Poll::Ready(Ok(Some(data))),
                    // Trailers and empty pieces.
                    _ => continue,
                },
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(Fault::broken_body())),
                Poll::Pending => {
                    let timer = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limits.time)));
                    return timer.as_mut().poll(cx).map(|()| Err(Fault::slow_body()));
                }
            }
        }
    })
    .await
}

//! What keeps a library inside its worker: limits, Landlock, seccomp.
//!
//! All of it is applied by the worker to itself, before the library is loaded and before there is a second thread. What a
//! system cannot enforce is listed in the [`Confinement`].

mod confinement;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(unix)]
mod limits;
#[cfg(target_os = "linux")]
mod linked;
#[cfg(unix)]
mod reply_pipe;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod trap;

#[cfg(unix)]
use std::os::fd::RawFd;
#[cfg(unix)]
use std::path::Path;

pub use confinement::Confinement;
#[cfg(unix)]
pub(crate) use reply_pipe::ReplyPipe;

#[cfg(unix)]
use crate::Permissions;
#[cfg(unix)]
use crate::shared_page::SharedPage;

/// Confines this process; that cannot be undone.
///
/// # Errors
///
/// Where the operator's permissions cannot be given: a path that does not exist, or, unless the operator insists, writing and
/// root where files cannot be confined. What else the system cannot enforce is no error.
#[cfg(unix)]
pub(crate) fn confine(
    permissions: &Permissions,
    library: &Path,
    page: &'static SharedPage,
    own: &[RawFd],
    replies: ReplyPipe,
) -> Result<Confinement, String> {
    let mut confinement = Confinement::default();
    match limits::apply(permissions) {
        Ok(()) => confinement.limits = true,
        Err(error) => confinement.missing.push(format!("limits: {error}")),
    }
    confine_further(permissions, library, page, own, replies, &mut confinement)?;
    if !confinement.files && !permissions.allows_unconfined_files() {
        without_confined_files(permissions)?;
    }
    Ok(confinement)
}

/// Says why a library may not run where the system cannot confine files; that one that may neither write nor is root can.
#[cfg(unix)]
fn without_confined_files(permissions: &Permissions) -> Result<(), String> {
    const REASON: &str =
        "this system cannot keep a library to the files that are permitted (Linux does it with Landlock)";
    const INSIST: &str = "`--allow unconfined-files` runs it all the same";
    if !permissions.writable().is_empty() {
        return Err(format!("`--allow write=PATH` would let it write all that you may: {REASON}; {INSIST}"));
    }
    // SAFETY: takes nothing.
    if unsafe { libc::geteuid() } == 0 {
        return Err(format!("as root it could read and change every file: {REASON}; run as another user, or {INSIST}"));
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn confine_further(
    permissions: &Permissions,
    library: &Path,
    page: &'static SharedPage,
    own: &[RawFd],
    replies: ReplyPipe,
    confinement: &mut Confinement,
) -> Result<(), String> {
    limits::drop_capabilities();
    match files::apply(permissions, library)? {
        Ok(coverage) => {
            confinement.files = true;
            if coverage == files::LandlockCoverage::Partial {
                let missing =
                    "files: the kernel is older than 6.12, and its Landlock does not check all that newer ones do";
                confinement.missing.push(missing.to_owned());
            }
        }
        Err(error) => confinement.missing.push(format!("files: {error}")),
    }
    let own: Vec<RawFd> = own.iter().copied().chain([trap::NULL]).collect();
    let filtered = trap::catch(page).and_then(|()| syscalls::apply(permissions, confinement.files, &own, replies));
    match filtered {
        Ok(()) => confinement.system_calls = true,
        Err(error) => confinement.missing.push(format!("system calls: {error}")),
    }
    Ok(())
}

#[cfg(all(unix, not(target_os = "linux")))]
fn confine_further(
    _permissions: &Permissions,
    _library: &Path,
    _page: &'static SharedPage,
    _own: &[RawFd],
    _replies: ReplyPipe,
    confinement: &mut Confinement,
) -> Result<(), String> {
    let system = std::env::consts::OS;
    confinement.missing.push(format!("files: opentool has no means for it on {system}"));
    confinement.missing.push(format!("system calls: opentool has no means for it on {system}"));
    Ok(())
}

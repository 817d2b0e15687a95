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
mod syscalls;
#[cfg(target_os = "linux")]
mod trap;

#[cfg(unix)]
use std::os::fd::RawFd;
#[cfg(unix)]
use std::path::Path;

pub use confinement::Confinement;

#[cfg(unix)]
use crate::Permissions;
#[cfg(unix)]
use crate::shared_page::SharedPage;

/// Confines this process; that cannot be undone.
///
/// # Errors
///
/// Where the operator's permissions cannot be given: a path that does not exist. What the system cannot enforce is no error.
#[cfg(unix)]
pub(crate) fn confine(
    permissions: &Permissions,
    library: &Path,
    page: &'static SharedPage,
    own: &[RawFd],
) -> Result<Confinement, String> {
    let mut confinement = Confinement::default();
    match limits::apply(permissions) {
        Ok(()) => confinement.limits = true,
        Err(error) => confinement.missing.push(format!("limits: {error}")),
    }
    confine_further(permissions, library, page, own, &mut confinement)?;
    Ok(confinement)
}

#[cfg(target_os = "linux")]
fn confine_further(
    permissions: &Permissions,
    library: &Path,
    page: &'static SharedPage,
    own: &[RawFd],
    confinement: &mut Confinement,
) -> Result<(), String> {
    if !permissions.allows_unsafe() {
        limits::drop_capabilities();
    }
    match files::apply(permissions, library)? {
        Ok(reach) => {
            confinement.files = true;
            if reach == files::Reach::Part {
                let missing =
                    "files: the kernel is older than 6.12, and its Landlock does not check all that newer ones do";
                confinement.missing.push(missing.to_owned());
            }
        }
        Err(error) => confinement.missing.push(format!("files: {error}")),
    }
    let filtered = trap::catch(page).and_then(|()| syscalls::apply(permissions, confinement.files, own));
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
    confinement: &mut Confinement,
) -> Result<(), String> {
    let system = std::env::consts::OS;
    confinement.missing.push(format!("files: opentool has no means for it on {system}"));
    confinement.missing.push(format!("system calls: opentool has no means for it on {system}"));
    Ok(())
}

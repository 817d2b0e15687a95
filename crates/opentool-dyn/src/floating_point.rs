//! The floating-point state of a thread, which a library may change and leave changed: [`restore`].

/// Sets rounding, precision, exceptions and the handling of denormal numbers to what every thread starts with, where a library
/// has changed them.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn restore() {
    /// Round to nearest, no exceptions, denormal numbers as they are.
    const VECTORS: u32 = 0x1f80;
    /// What has happened so far, which no result depends on.
    const FLAGS: u32 = 0x3f;
    /// The same for the older unit, with its full precision.
    const STACK: u16 = 0x037f;
    let (mut vectors, mut stack) = (0_u32, 0_u16);
    // SAFETY: both store a register to the place that they are given.
    unsafe {
        std::arch::asm!(
            "stmxcsr [{vectors}]",
            "fnstcw [{stack}]",
            vectors = in(reg) &raw mut vectors,
            stack = in(reg) &raw mut stack,
            options(nostack, preserves_flags)
        );
    }
    if vectors & !FLAGS != VECTORS {
        vectors = VECTORS;
        // SAFETY: loads a valid value for the register; the compiler relies on exactly this state.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const vectors, options(nostack, preserves_flags)) };
    }
    if stack != STACK {
        stack = STACK;
        // SAFETY: as above.
        unsafe { std::arch::asm!("fldcw [{}]", in(reg) &raw const stack, options(nostack, preserves_flags)) };
    }
}

/// The same.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(crate) fn restore() {
    let control: u64;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags)) };
    if control != 0 {
        // SAFETY: zero is the state that every thread starts with, and the compiler relies on it.
        unsafe { std::arch::asm!("msr fpcr, xzr", options(nomem, nostack, preserves_flags)) };
    }
}

/// Nothing is known about this processor.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
pub(crate) fn restore() {}

//! What std would have brought: a panic handler and an allocator.

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    panic::PanicInfo,
    ptr::null_mut,
    sync::atomic::{AtomicUsize, Ordering},
};

unsafe extern "C" {
    /// From the C library that the program is linked with.
    safe fn abort() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    abort()
}

/// The precompiled `alloc` names the unwinder's hook; nothing unwinds, so nothing calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

const HEAP_BYTES: usize = 1 << 20;

/// Hands out pieces of one block and takes none back: enough for a program that ends.
struct Bump {
    heap: UnsafeCell<[u8; HEAP_BYTES]>,
    used: AtomicUsize,
}

#[global_allocator]
static ALLOCATOR: Bump = Bump {
    heap: UnsafeCell::new([0; HEAP_BYTES]),
    used: AtomicUsize::new(0),
};

// SAFETY: the heap is only reached through pieces of it that `alloc` hands out once each.
unsafe impl Sync for Bump {}

// SAFETY: each piece lies within the heap, is aligned, and overlaps none handed out before, because
// `used` only grows.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = self.heap.get().cast::<u8>();
        let piece = |used: usize| {
            let start = (base as usize)
                .checked_add(used)?
                .checked_next_multiple_of(layout.align())?;
            let end = (start - base as usize).checked_add(layout.size())?;
            (end <= HEAP_BYTES).then_some((start - base as usize, end))
        };
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                piece(used).map(|(_, end)| end)
            });
        match taken.ok().and_then(piece) {
            // SAFETY: `offset` is at most HEAP_BYTES, so the pointer stays within the heap.
            Some((offset, _)) => unsafe { base.add(offset) },
            None => null_mut(),
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

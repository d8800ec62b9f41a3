// Loaded into a test binary that does not end: each thread that gets SIGUSR2 writes its stack to a file.
// The project's own toolchain compiles it. It knows nothing of the project.

use std::backtrace::Backtrace;
use std::fs::OpenOptions;
use std::io::Write;

const SIGUSR2: i32 = 12;

extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
}

extern "C" fn tell(_number: i32) {
    let Ok(place) = std::env::var("VERDIGRIS_BACKTRACE") else { return };
    let text = format!("thread\n{}\n\n", Backtrace::force_capture());
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(place) {
        let _ = file.write_all(text.as_bytes());
    }
}

extern "C" fn listen() {
    unsafe {
        signal(SIGUSR2, tell);
    }
}

#[used]
#[link_section = ".init_array"]
static LISTENS: extern "C" fn() = listen;

//! A seccomp filter that prevents setuid and setgid bits on files.
//!
//! A file with such a bit gives the user's permissions to every user who runs it, even after the
//! sandbox has ended. The filter applies to a thread and its children. Sources: seccomp(2),
//! open(2), chmod(2), and Linux's system call tables.

use seccompiler::sock_filter as Instruction;

/// The setuid and setgid bits of a mode.
const BITS: u32 = 0o6000;
/// The flags with which `open` creates a file: `O_CREAT`, and the bit that is only in `O_TMPFILE`.
const MAKES: u32 = 0o100 | 0o20_000_000;
const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

/// How a system call can set a mode. The numbers are positions of arguments.
#[derive(Debug, Clone, Copy)]
enum Call {
    /// Always sets this mode.
    Sets { mode: u32 },
    /// Sets this mode if its flags create a file.
    Makes { flags: u32, mode: u32 },
    /// Reads the mode from memory, which a filter can't. It fails as missing, which programs handle.
    Hides,
}

use Call::{Hides, Makes, Sets};

type Calls = &'static [(u32, Call)];

/// System calls with the same number on all architectures: `fchmodat2`, `openat2`, and
/// `io_uring_setup`.
const SHARED: Calls = &[(452, Sets { mode: 2 }), (437, Hides), (425, Hides)];

/// System calls of architectures without old ones: mknodat, fchmod, fchmodat, and openat.
const GENERIC: Calls = &[
    (33, Sets { mode: 2 }),
    (52, Sets { mode: 1 }),
    (53, Sets { mode: 2 }),
    (56, Makes { flags: 2, mode: 3 }),
];

/// Rust's name and Linux's number of each architecture, and its system calls besides [`SHARED`].
/// 32-bit architectures are included because 64-bit processors run their programs as well.
const ARCHITECTURES: [(&str, u32, Calls); 6] = [
    // x86-64, and x32, whose numbers have one more bit.
    (
        "x86_64",
        0xc000_003e,
        &[
            // open, creat, chmod, fchmod, mknod, openat, mknodat, and fchmodat.
            (2, Makes { flags: 1, mode: 2 }),
            (85, Sets { mode: 1 }),
            (90, Sets { mode: 1 }),
            (91, Sets { mode: 1 }),
            (133, Sets { mode: 1 }),
            (257, Makes { flags: 2, mode: 3 }),
            (259, Sets { mode: 2 }),
            (268, Sets { mode: 2 }),
        ],
    ),
    // i386.
    (
        "x86",
        0x4000_0003,
        &[
            // open, creat, mknod, chmod, fchmod, openat, mknodat, and fchmodat.
            (5, Makes { flags: 1, mode: 2 }),
            (8, Sets { mode: 1 }),
            (14, Sets { mode: 1 }),
            (15, Sets { mode: 1 }),
            (94, Sets { mode: 1 }),
            (295, Makes { flags: 2, mode: 3 }),
            (297, Sets { mode: 2 }),
            (306, Sets { mode: 2 }),
        ],
    ),
    ("aarch64", 0xc000_00b7, GENERIC),
    ("riscv64", 0xc000_00f3, GENERIC),
    ("riscv32", 0x4000_00f3, GENERIC),
    // arm.
    (
        "arm",
        0x4000_0028,
        &[
            // open, creat, mknod, chmod, fchmod, openat, mknodat, and fchmodat.
            (5, Makes { flags: 1, mode: 2 }),
            (8, Sets { mode: 1 }),
            (14, Sets { mode: 1 }),
            (15, Sets { mode: 1 }),
            (94, Sets { mode: 1 }),
            (322, Makes { flags: 2, mode: 3 }),
            (324, Sets { mode: 2 }),
            (333, Sets { mode: 2 }),
        ],
    ),
];

/// The bit that marks a system call of x32.
const X32: u32 = 0x4000_0000;

// Offsets in `struct seccomp_data`. The lower half of an argument comes first.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

// Instructions of BPF.
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_ANY: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const FAIL: u32 = 0x0005_0000;

/// Installs the filter for the calling thread and its children.
///
/// # Errors
///
/// The filter has no system calls of this architecture, or the kernel doesn't support filters.
pub(super) fn restrict() -> Result<(), String> {
    supports(std::env::consts::ARCH)?;
    seccompiler::apply_filter(&program()).map_err(|error| error.to_string())
}

/// Returns true if the filter covers this architecture. It lets through all calls of others.
fn supports(architecture: &str) -> Result<(), String> {
    if ARCHITECTURES.iter().any(|(it, ..)| *it == architecture) {
        Ok(())
    } else {
        Err(format!(
            "there is no filter of system calls for {architecture}"
        ))
    }
}

fn program() -> Vec<Instruction> {
    let mut program = vec![load(ARCHITECTURE)];
    for (_, architecture, calls) in ARCHITECTURES {
        // A call of x32 has the number of x86-64 with this bit. No other number has it.
        let mut block = vec![load(NUMBER), instruction(AND, 0, 0, !X32)];
        for (number, call) in calls.iter().chain(SHARED) {
            let body = body(*call);
            block.push(instruction(JUMP_IF_EQUAL, 0, length(&body), *number));
            block.extend(body);
        }
        block.push(give(ALLOW));
        program.push(instruction(JUMP_IF_EQUAL, 0, length(&block), architecture));
        program.extend(block);
    }
    program.push(give(ALLOW));
    program
}

/// The instructions for a system call, which always end with a result.
fn body(call: Call) -> Vec<Instruction> {
    let refuse_bits = |mode| {
        [
            load(ARGUMENTS + 8 * mode),
            instruction(JUMP_IF_ANY, 0, 1, BITS),
            give(FAIL | EPERM),
            give(ALLOW),
        ]
    };
    match call {
        Sets { mode } => refuse_bits(mode).into(),
        Makes { flags, mode } => {
            let makes = [
                load(ARGUMENTS + 8 * flags),
                instruction(JUMP_IF_ANY, 1, 0, MAKES),
                give(ALLOW),
            ];
            makes.into_iter().chain(refuse_bits(mode)).collect()
        }
        Hides => vec![give(FAIL | ENOSYS)],
    }
}

fn load(offset: u32) -> Instruction {
    instruction(LOAD, 0, 0, offset)
}

fn give(result: u32) -> Instruction {
    instruction(RETURN, 0, 0, result)
}

/// Makes an instruction. `then` and `otherwise` are the numbers of instructions that a jump skips.
fn instruction(code: u16, then: u8, otherwise: u8, operand: u32) -> Instruction {
    Instruction {
        code,
        jt: then,
        jf: otherwise,
        k: operand,
    }
}

/// The number of instructions, at most the distance of a jump.
fn length(block: &[Instruction]) -> u8 {
    u8::try_from(block.len()).unwrap_or(u8::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The filter's verdict on a call.
    fn run(architecture: u32, number: u32, arguments: [u32; 4]) -> u32 {
        let program = program();
        let (mut at, mut register) = (0, 0);
        loop {
            let Instruction { code, jt, jf, k } = program[at].clone();
            at += 1;
            match code {
                LOAD if k == NUMBER => register = number,
                LOAD if k == ARCHITECTURE => register = architecture,
                LOAD => register = arguments[((k - ARGUMENTS) / 8) as usize],
                AND => register &= k,
                JUMP_IF_EQUAL => at += usize::from(if register == k { jt } else { jf }),
                JUMP_IF_ANY => at += usize::from(if register & k != 0 { jt } else { jf }),
                RETURN => return k,
                _ => panic!("{code}"),
            }
        }
    }

    #[test]
    fn no_architecture_has_a_call_that_sets_the_bits() {
        for (_, architecture, calls) in ARCHITECTURES {
            for (number, call) in calls.iter().chain(SHARED) {
                for mode in [0o4755, 0o2755, 0o6000, 0o104_711] {
                    // Each flag that creates a file, together with others.
                    for flags in [0o101, 0o20_200_002] {
                        let mut arguments = [flags; 4];
                        if let Sets { mode: at } | Makes { mode: at, .. } = call {
                            arguments[*at as usize] = mode;
                        }
                        let said = run(architecture, *number, arguments);
                        assert_eq!(said & FAIL, FAIL, "{architecture:x} {number} {call:?}");
                    }
                }
            }
        }
        // chmod of x32.
        assert_eq!(
            run(ARCHITECTURES[0].1, X32 | 90, [0, 0o4755, 0, 0]),
            FAIL | EPERM
        );
    }

    #[test]
    fn an_architecture_that_the_filter_lets_through_does_not_count_as_restricted() {
        for name in ["x86_64", "aarch64", "riscv64"] {
            assert_eq!(supports(name), Ok(()));
        }
        for name in ["powerpc64", "s390x", "loongarch64"] {
            assert!(supports(name).is_err(), "{name}");
        }
    }

    #[test]
    fn everything_else_is_allowed() {
        for (_, architecture, calls) in ARCHITECTURES {
            for (number, call) in calls {
                assert_eq!(
                    run(architecture, *number, [0o101, 0o755, 0o755, 0o755]),
                    ALLOW
                );
                // Without such a flag, the argument is not a mode.
                if let Makes { flags, .. } = call {
                    let mut arguments = [0o4755; 4];
                    arguments[*flags as usize] = 0;
                    assert_eq!(run(architecture, *number, arguments), ALLOW);
                }
            }
            assert_eq!(run(architecture, 1, [0o4755; 4]), ALLOW);
        }
        assert_eq!(run(0x1234, 90, [0o4755; 4]), ALLOW);
        assert!(program().len() < 4096);
    }

    #[test]
    fn each_jump_lands_where_it_should() {
        for (at, it) in program().iter().enumerate() {
            let longest = usize::from(it.jt.max(it.jf));
            assert!(longest < 255 && at + longest < program().len() - 1 || longest == 0);
        }
    }
}

//! Decisions about a system call, and the instructions of the kernel's filter machine for them
//! (seccomp(2), `linux/filter.h`).
//!
//! A [`Node`] is a tree: it is made by [`seccomp`](super::seccomp) from rules, compared, and
//! assembled into instructions that only jump forwards, as the kernel demands. A filter has at most
//! 4,096 instructions (`BPF_MAXINSNS`). A subtree that is used twice is assembled twice.

/// A decision, step by step.
///
/// What was loaded and masked last is what a comparison looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// The call is made.
    Allow,
    /// It fails with this error number.
    ///
    /// Without making the call; at most 4095, as the kernel has it.
    Errno(u16),
    /// The process is ended with `SIGSYS`.
    Kill,
    /// Looks at something; what follows is about it.
    Load(Load, Box<Node>),
    /// Keeps these bits of what is looked at.
    Mask(u32, Box<Node>),
    /// Compares what is looked at.
    Compare(Compare, u32, Box<Node>, Box<Node>),
}

/// What can be looked at, of `struct seccomp_data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// The number of the call.
    Number,
    /// The architecture whose numbers these are.
    Architecture,
    /// Half of an argument, which is counted from 0.
    Argument(u8, Word),
}

/// Half of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// The lower half: all of an argument that is an `int`.
    Low,
    /// The upper half.
    High,
}

/// A comparison with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    /// Of all 32 bits.
    Equal,
    /// Without a sign.
    AtLeast,
    /// Any of the number's bits is set.
    AnyOf,
}

/// An instruction, `struct sock_filter`.
///
/// `code` is the kind, `k` its constant: a value, an offset, or an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instruction {
    code: u16,
    /// Instructions to skip where a comparison holds.
    yes: u8,
    /// … and where it does not.
    no: u8,
    k: u32,
}

/// `BPF_LD | BPF_W | BPF_ABS`: loads 32 bits from the offset `k`.
const LOAD_WORD: u16 = 0x20;
/// `BPF_ALU | BPF_AND | BPF_K`.
const AND: u16 = 0x54;
/// `BPF_JMP | BPF_JA`: skips `k` instructions.
const JUMP: u16 = 0x05;
/// `BPF_JMP | BPF_JEQ | BPF_K`.
const JUMP_EQUAL: u16 = 0x15;
/// `BPF_JMP | BPF_JGE | BPF_K`.
const JUMP_AT_LEAST: u16 = 0x35;
/// `BPF_JMP | BPF_JSET | BPF_K`.
const JUMP_ANY_OF: u16 = 0x45;
/// `BPF_RET | BPF_K`.
const RETURN: u16 = 0x06;

/// `SECCOMP_RET_ALLOW`.
const RETURN_ALLOW: u32 = 0x7fff_0000;
/// `SECCOMP_RET_ERRNO`; the low 16 bits are the error number.
const RETURN_ERRNO: u32 = 0x0005_0000;
/// `SECCOMP_RET_KILL_PROCESS`.
const RETURN_KILL: u32 = 0x8000_0000;

impl Node {
    pub(super) fn load(what: Load, then: Self) -> Self {
        Self::Load(what, Box::new(then))
    }

    /// Bits outside of `bits` are 0 in what follows.
    pub(super) fn masked(bits: u32, then: Self) -> Self {
        Self::Mask(bits, Box::new(then))
    }

    pub(super) fn equal(value: u32, yes: Self, no: Self) -> Self {
        Self::Compare(Compare::Equal, value, Box::new(yes), Box::new(no))
    }

    pub(super) fn at_least(value: u32, yes: Self, no: Self) -> Self {
        Self::Compare(Compare::AtLeast, value, Box::new(yes), Box::new(no))
    }

    pub(super) fn any_of(bits: u32, yes: Self, no: Self) -> Self {
        Self::Compare(Compare::AnyOf, bits, Box::new(yes), Box::new(no))
    }

    /// The instructions, each of eight bytes in the order of the machine.
    pub(super) fn assemble(&self) -> Vec<u8> {
        let mut res = Vec::new();
        for Instruction { code, yes, no, k } in self.instructions() {
            res.extend_from_slice(&code.to_ne_bytes());
            res.extend_from_slice(&[yes, no]);
            res.extend_from_slice(&k.to_ne_bytes());
        }
        res
    }

    /// The `no` branch comes first, since a comparison that holds can skip it with one jump.
    fn instructions(&self) -> Vec<Instruction> {
        let plain = |code, k| Instruction { code, yes: 0, no: 0, k };
        let before = |one, rest: &Self| {
            let mut res = vec![one];
            res.extend(rest.instructions());
            res
        };
        match self {
            Self::Allow => vec![plain(RETURN, RETURN_ALLOW)],
            Self::Errno(number) => vec![plain(RETURN, RETURN_ERRNO | u32::from(*number))],
            Self::Kill => vec![plain(RETURN, RETURN_KILL)],
            Self::Load(what, then) => before(plain(LOAD_WORD, what.offset()), then),
            Self::Mask(bits, then) => before(plain(AND, *bits), then),
            Self::Compare(compare, value, yes, no) => {
                let (yes, no) = (yes.instructions(), no.instructions());
                let code = match compare {
                    Compare::Equal => JUMP_EQUAL,
                    Compare::AtLeast => JUMP_AT_LEAST,
                    Compare::AnyOf => JUMP_ANY_OF,
                };
                let mut res = Vec::with_capacity(yes.len() + no.len() + 2);
                // A comparison skips up to 255 instructions, a jump any number.
                match u8::try_from(no.len()) {
                    Ok(far) => res.push(Instruction { code, yes: far, no: 0, k: *value }),
                    Err(_) => {
                        res.push(Instruction { code, yes: 0, no: 1, k: *value });
                        let far = u32::try_from(no.len()).expect("a filter is short");
                        res.push(plain(JUMP, far));
                    }
                }
                res.extend(no);
                res.extend(yes);
                res
            }
        }
    }
}

impl Load {
    /// Where it lies in `struct seccomp_data`.
    fn offset(self) -> u32 {
        match self {
            Self::Number => 0,
            Self::Architecture => 4,
            // Little-endian, as x86-64 is.
            Self::Argument(at, Word::Low) => 16 + 8 * u32::from(at),
            Self::Argument(at, Word::High) => 20 + 8 * u32::from(at),
        }
    }
}

/// A machine that does what the kernel's does, and checks what the kernel checks.
#[cfg(test)]
pub(super) mod machine {
    use super::{
        AND, Instruction, JUMP, JUMP_ANY_OF, JUMP_AT_LEAST, JUMP_EQUAL, LOAD_WORD, RETURN,
    };

    /// The longest filter that the kernel takes (`BPF_MAXINSNS`).
    const MAX_INSTRUCTIONS: usize = 4096;

    pub(in crate::sandbox) struct Machine {
        instructions: Vec<Instruction>,
    }

    #[derive(Debug)]
    pub(in crate::sandbox) struct Ran {
        /// `allow`, `kill`, or the name of an error.
        pub(in crate::sandbox) answer: &'static str,
        pub(in crate::sandbox) looked_at_arguments: bool,
        /// Instructions up to the answer, or up to the first look at an argument: as far as the kernel
        /// goes when it loads a filter.
        pub(in crate::sandbox) steps_to_arguments: usize,
    }

    impl Machine {
        pub(in crate::sandbox) fn new(filter: &[u8]) -> Self {
            let (chunks, rest) = filter.as_chunks::<8>();
            assert!(rest.is_empty() && (1..=MAX_INSTRUCTIONS).contains(&chunks.len()));
            let of = |it: &[u8; 8]| Instruction {
                code: u16::from_ne_bytes([it[0], it[1]]),
                yes: it[2],
                no: it[3],
                k: u32::from_ne_bytes([it[4], it[5], it[6], it[7]]),
            };
            Self { instructions: chunks.iter().map(of).collect() }
        }

        pub(in crate::sandbox) fn n_instructions(&self) -> usize {
            self.instructions.len()
        }

        pub(in crate::sandbox) fn run(
            &self,
            number: u32,
            architecture: u32,
            args: [u64; 6],
        ) -> Ran {
            // `struct seccomp_data`: the instruction pointer is not looked at.
            let mut data = [number, architecture, 0xdead_beef, 0xdead_beef].to_vec();
            data.extend(args.into_iter().flat_map(|it| [it as u32, (it >> 32) as u32]));
            let (mut at, mut steps, mut value) = (0, 0, 0);
            let mut first_look = None;
            loop {
                let Instruction { code, yes, no, k } = self.instructions[at];
                at += 1;
                steps += 1;
                let holds = match code {
                    LOAD_WORD => {
                        assert!(k % 4 == 0, "loads are of whole words");
                        let word = k as usize / 4;
                        if word >= 4 {
                            first_look.get_or_insert(steps);
                        }
                        value = data[word];
                        continue;
                    }
                    AND => {
                        value &= k;
                        continue;
                    }
                    JUMP => {
                        at += k as usize;
                        continue;
                    }
                    RETURN => {
                        return Ran {
                            answer: answer(k),
                            looked_at_arguments: first_look.is_some(),
                            steps_to_arguments: first_look.unwrap_or(steps),
                        };
                    }
                    JUMP_EQUAL => value == k,
                    JUMP_AT_LEAST => value >= k,
                    JUMP_ANY_OF => value & k != 0,
                    _ => panic!("no instruction: {code:#x}"),
                };
                at += usize::from(if holds { yes } else { no });
            }
        }
    }

    /// As `linux/seccomp.h` and `asm-generic/errno-base.h` number them.
    fn answer(k: u32) -> &'static str {
        match (k & 0xffff_0000, k & 0xffff) {
            (0x7fff_0000, 0) => "allow",
            (0x8000_0000, 0) => "kill",
            (0x0005_0000, 1) => "EPERM",
            (0x0005_0000, 22) => "EINVAL",
            (0x0005_0000, 38) => "ENOSYS",
            (0x0005_0000, 55) => "ENOANO",
            _ => panic!("no answer: {k:#x}"),
        }
    }
}

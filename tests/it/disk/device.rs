//! A model of a disk: which writes survive a power cut.

use super::{Op, Record};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

/// What one write of a disk keeps whole.
const SECTORS: [usize; 2] = [512, 4096];

/// A disk with a cache in front of it, by what POSIX promises and no more: the content of a file is
/// safe once a sync of it has come back, a name once a sync of its folder has; of everything else any
/// part may be there or not, sector by sector, and never two versions of a sector mixed. What a sync
/// could not write is forgotten, and the next sync says that all is well, as Linux does it.
#[derive(Debug, Clone)]
pub(super) struct Device {
    nodes: Vec<Node>,
    /// The names as the running system sees them.
    names: BTreeMap<PathBuf, usize>,
    root: usize,
    /// Syncs that have begun, by thread: which node, and how much of what waits they will have made safe.
    syncs: BTreeMap<u32, (usize, usize)>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    is_folder: bool,
    content: Vec<u8>,
    /// Safe names of a folder.
    entries: BTreeMap<String, usize>,
    /// What is not safe yet, in order.
    changes: VecDeque<Change>,
    settled: usize,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
    Link(String, usize),
    Unlink(String),
}

/// Random numbers of a seed.
#[derive(Debug, Clone)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// Below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        // SplitMix64, of Steele, Lea and Flood.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }
}

impl Device {
    /// An empty disk whose root is that folder.
    pub(super) fn new(root: &Path) -> Device {
        let folder = Node { is_folder: true, ..Node::default() };
        let names = BTreeMap::from([(root.to_owned(), 0)]);
        Device { nodes: vec![folder], names, root: 0, syncs: BTreeMap::new() }
    }

    /// One thing happens.
    pub(super) fn apply(&mut self, record: &Record) {
        let path = &record.path;
        match &record.op {
            Op::Said(_) => {}
            // The index of the WAL is shared memory, made anew by whoever opens the journal first.
            _ if path.to_string_lossy().ends_with("-shm") => {}
            Op::Link => panic!("`{}` is a link to an unknown file", path.display()),
            Op::Create => self.make(path, false),
            Op::MakeDirectory => self.make(path, true),
            Op::Write { offset, bytes } => {
                self.change(path, Change::Write(*offset as usize, bytes.clone()));
            }
            Op::Truncate { length } => self.change(path, Change::Truncate(*length as usize)),
            Op::Rename { to } => {
                let node = self.names.remove(path).expect("what is renamed is there");
                self.change_name(path, Change::Unlink);
                self.change_name(to, |name| Change::Link(name, node));
                self.names.insert(to.clone(), node);
            }
            Op::Unlink | Op::RemoveDirectory => {
                self.names.remove(path);
                self.change_name(path, Change::Unlink);
            }
            Op::Sync => {
                if let Some(node) = self.names.get(path) {
                    let known = &self.nodes[*node];
                    self.syncs.insert(record.thread, (*node, known.settled + known.changes.len()));
                }
            }
            Op::Synced => {
                if let Some((node, until)) = self.syncs.remove(&record.thread) {
                    self.nodes[node].settle(until);
                }
            }
            Op::Unsynced => {
                if let Some((node, until)) = self.syncs.remove(&record.thread) {
                    self.nodes[node].forsake(until);
                }
            }
        }
    }

    fn make(&mut self, path: &Path, is_folder: bool) {
        let node = self.nodes.len();
        self.nodes.push(Node { is_folder, ..Node::default() });
        self.names.insert(path.to_owned(), node);
        self.change_name(path, |name| Change::Link(name, node));
    }

    fn change(&mut self, path: &Path, change: Change) {
        let node = self.names[path];
        self.nodes[node].changes.push_back(change);
    }

    fn change_name(&mut self, path: &Path, change: impl FnOnce(String) -> Change) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        self.change(path.parent().unwrap(), change(name));
    }

    /// The power goes: what comes back is put into a folder.
    pub(super) fn cut(&self, dice: &mut Dice, into: &Path) {
        // Often the extremes, where nothing or everything of what waited is there.
        let chance = [0, 0, 20, 50, 80, 95, 100][dice.below(7)];
        self.put(self.root, into, chance, dice);
    }

    /// The same where nothing came through that was not safe.
    pub(super) fn cut_to_what_is_safe(&self, into: &Path) {
        self.put(self.root, into, 0, &mut Dice(0));
    }

    fn put(&self, node: usize, path: &Path, chance: usize, dice: &mut Dice) {
        let known = &self.nodes[node];
        if !known.is_folder {
            return std::fs::write(path, known.after_cut(chance, dice)).unwrap();
        }
        std::fs::create_dir_all(path).unwrap();
        let mut entries = known.entries.clone();
        for change in &known.changes {
            let comes = dice.below(100) < chance;
            match change {
                Change::Link(name, node) if comes => drop(entries.insert(name.clone(), *node)),
                Change::Unlink(name) if comes => drop(entries.remove(name)),
                _ => {}
            }
        }
        for (name, node) in entries {
            self.put(node, &path.join(name), chance, dice);
        }
    }
}

impl Node {
    fn settle(&mut self, until: usize) {
        while self.settled < until {
            let Some(change) = self.changes.pop_front() else { return };
            self.settled += 1;
            match change {
                Change::Write(offset, bytes) => put_at(&mut self.content, offset, &bytes),
                Change::Truncate(length) => self.content.resize(length, 0),
                Change::Link(name, node) => drop(self.entries.insert(name, node)),
                Change::Unlink(name) => drop(self.entries.remove(&name)),
            }
        }
    }

    /// A sync has failed: what it was to write stays in memory and is never written.
    fn forsake(&mut self, until: usize) {
        let count = until.saturating_sub(self.settled).min(self.changes.len());
        self.changes.drain(..count);
        self.settled += count;
    }

    /// What is found after the power has gone: of each sector some version since the last sync, and
    /// some length that the file has had.
    fn after_cut(&self, chance: usize, dice: &mut Dice) -> Vec<u8> {
        let sector = SECTORS[dice.below(2)];
        let mut versions: BTreeMap<usize, usize> = BTreeMap::new();
        let mut content = self.content.clone();
        let mut length = self.content.len();
        let mut lengths = vec![length];
        // Which version each sector has: how many of the changes that touch it have reached it.
        let touched = |change: &Change| match change {
            Change::Write(offset, bytes) => {
                offset / sector..(offset + bytes.len()).div_ceil(sector)
            }
            _ => 0..0,
        };
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for number in self.changes.iter().flat_map(&touched) {
            *counts.entry(number).or_default() += 1;
        }
        for (number, count) in counts {
            let all = dice.below(100) < chance;
            versions.insert(
                number,
                if all {
                    count
                } else if chance == 0 {
                    0
                } else {
                    dice.below(count + 1)
                },
            );
        }
        for change in &self.changes {
            match change {
                Change::Write(offset, bytes) => {
                    length = length.max(offset + bytes.len());
                    for number in touched(change) {
                        let left = versions.get_mut(&number).unwrap();
                        if *left == 0 {
                            continue;
                        }
                        *left -= 1;
                        let from = (number * sector).max(*offset);
                        let to = ((number + 1) * sector).min(offset + bytes.len());
                        put_at(&mut content, from, &bytes[from - offset..to - offset]);
                    }
                }
                Change::Truncate(to) => {
                    length = *to;
                    if dice.below(100) < chance {
                        content.truncate(*to);
                    }
                }
                _ => {}
            }
            lengths.push(length);
        }
        let length = match chance {
            0 => lengths[0],
            100 => length,
            _ => lengths[dice.below(lengths.len())],
        };
        content.resize(length, 0);
        content
    }
}

fn put_at(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    content.resize(content.len().max(end), 0);
    content[offset..end].copy_from_slice(bytes);
}

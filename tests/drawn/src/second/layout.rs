//! Which caches each kind of load asks, in order.

use super::dice::Dice;

/// The first capability, in tenths, with `ld.global.nc`, as PTX has it.
const FIRST_READ_ONLY: u64 = 32;
/// The first capability, in tenths, of which every GPU has used the read-only path.
const READ_ONLY_USUAL: u64 = 35;

/// A list of caches, the first one first.
pub type Levels = Vec<&'static str>;

/// The caches before those of the device, for each path, and the device's caches. A cache that a path skips is not in its
/// list. All lists keep one order: `l0`, `constant_l1`, `constant_l15`, `l1`, `texture`, `sm_l2`, `texture_l2`.
#[derive(Clone)]
pub struct Layout {
    /// `ld.global.ca`.
    pub global: Levels,
    /// `ld.global.nc`, if there is such a path.
    pub read_only: Option<Levels>,
    /// `tex`, if there is such a path.
    pub texture: Option<Levels>,
    /// `ld.local`.
    pub local: Levels,
    /// `ld.const` by addresses that differ.
    pub constant: Levels,
    /// `ld.const` by one address, if it takes a path of its own.
    pub uniform: Option<Levels>,
    /// The L2, and what is behind it.
    pub device: Levels,
    /// The second constant cache is the device's.
    pub shared_l15: bool,
}

/// What may be unusual.
#[derive(Clone, Copy)]
enum Change {
    BehindL1,
    BeforeL1,
    BehindL2,
    BeforeL2,
    NoL1,
    LocalSkips,
    TextureSkips,
    NoTexture,
    NoReadOnly,
    OneConstant,
    ConstantsViaL1,
    SharedL15,
    UniformSkips,
}

const CHANGES: [Change; 17] = [
    Change::BehindL1,
    Change::BehindL1,
    Change::BeforeL1,
    Change::BehindL2,
    Change::BehindL2,
    Change::BeforeL2,
    Change::NoL1,
    Change::LocalSkips,
    Change::TextureSkips,
    Change::NoTexture,
    Change::NoReadOnly,
    Change::NoReadOnly,
    Change::NoReadOnly,
    Change::OneConstant,
    Change::ConstantsViaL1,
    Change::SharedL15,
    Change::UniformSkips,
];

/// A layout as GPUs of a capability have it, or an unusual one.
pub fn draw(dice: &mut Dice, capability: u64) -> Layout {
    let mut layout = usual(dice, capability);
    if dice.one_in(4) {
        for change in dice.few(&CHANGES) {
            layout.change(change);
        }
    }
    layout.note(dice, capability);
    layout
}

/// One L1 for everything, or a texture cache of its own.
fn usual(dice: &mut Dice, capability: u64) -> Layout {
    let texture = if dice.one_in(if capability < 50 { 1 } else { 6 }) { "texture" } else { "l1" };
    let constant = vec!["constant_l1", "constant_l15"];
    Layout {
        global: vec!["l1"],
        read_only: (capability >= READ_ONLY_USUAL).then(|| vec![texture]),
        texture: Some(vec![texture]),
        local: vec!["l1"],
        uniform: dice.one_in(2).then(|| constant.clone()),
        constant,
        device: vec!["l2"],
        shared_l15: false,
    }
}

impl Layout {
    fn change(&mut self, change: Change) {
        match change {
            Change::BehindL1 => self.each_with("l1", |levels| levels.push("sm_l2")),
            Change::BeforeL1 => {
                let paths = self.read_only.iter_mut().chain(&mut self.texture);
                paths.filter(|levels| !levels.contains(&"l0")).for_each(|levels| levels.insert(0, "l0"));
            }
            Change::BehindL2 => self.device = vec!["l2", "l3"],
            Change::BeforeL2 => {
                let without = self.texture.iter_mut().filter(|levels| !levels.contains(&"texture_l2"));
                without.for_each(|levels| levels.push("texture_l2"));
            }
            Change::NoL1 => self.global.clear(),
            Change::LocalSkips => self.local.clear(),
            Change::TextureSkips => self.texture = Some(Vec::new()),
            Change::NoTexture => self.texture = None,
            Change::NoReadOnly => self.read_only = None,
            Change::OneConstant => self.constants(|levels| levels.retain(|&name| name != "constant_l15")),
            Change::ConstantsViaL1 => self.constants(|levels| *levels = vec!["constant_l1", "l1"]),
            Change::SharedL15 => self.shared_l15 = self.constant.contains(&"constant_l15"),
            Change::UniformSkips => self.uniform = Some(self.constant[1..].to_vec()),
        }
    }

    /// Changes the paths of data that ask a cache, once each.
    fn each_with(&mut self, cache: &str, change: impl Fn(&mut Levels)) {
        let paths = [&mut self.global, &mut self.local].into_iter();
        let paths = paths.chain(&mut self.read_only).chain(&mut self.texture);
        paths.filter(|levels| levels.last() == Some(&cache)).for_each(change);
    }

    /// Changes both paths of constants.
    fn constants(&mut self, change: impl Fn(&mut Levels)) {
        change(&mut self.constant);
        self.uniform.iter_mut().for_each(change);
        self.shared_l15 &= self.has("constant_l15");
    }

    /// Paths by name, each with all its caches.
    pub fn paths(&self) -> Vec<(&'static str, Levels)> {
        let whole = |levels: &Levels| [levels.as_slice(), &self.device].concat();
        let paths = [
            ("global_ca", Some(&self.global)),
            ("global_cg", Some(&Vec::new())),
            ("global_nc", self.read_only.as_ref()),
            ("texture", self.texture.as_ref()),
            ("constant", Some(&self.constant)),
            ("constant_uniform", self.uniform.as_ref()),
            ("local", Some(&self.local)),
        ];
        paths.into_iter().filter_map(|(name, levels)| Some((name, whole(levels?)))).collect()
    }

    /// Whether any path asks a cache.
    pub fn has(&self, cache: &str) -> bool {
        self.paths().iter().any(|(_, levels)| levels.contains(&cache))
    }

    fn note(&self, dice: &mut Dice, capability: u64) {
        let skips = |levels: &Levels| levels.is_empty();
        dice.note_if(skips(&self.global), "global loads skip the l1");
        dice.note_if(skips(&self.local), "local loads skip the l1");
        dice.note_if(self.texture.as_ref().is_some_and(skips), "textures skip the sm's caches");
        dice.note_if(self.texture.is_none(), "no texture path");
        let no_read_only = self.read_only.is_none() && capability >= FIRST_READ_ONLY;
        dice.note_if(no_read_only, "no read-only path");
        dice.note_if(self.has("sm_l2"), "second cache behind the l1");
        dice.note_if(self.has("l0"), "second cache before the texture cache");
        dice.note_if(self.has("texture_l2"), "device-wide cache before the l2");
        dice.note_if(self.has("l3"), "third cache behind the l2");
        dice.note_if(self.shared_l15, "constant l1.5 shared by all sms");
        dice.note_if(self.constant.contains(&"l1"), "constants behind the l1");
        dice.note_if(self.constant.len() == 1, "one constant level");
        let apart = self.uniform.as_ref().is_some_and(|uniform| *uniform != self.constant);
        dice.note_if(apart, "uniform constants take another path");
    }
}

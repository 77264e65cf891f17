//! Where everything stands, from above: the SM, translation, the L2, the memories. Loads come from the left, what misses goes
//! down at the right.

use super::model::{Drawing, Group, Kind, Lane, Memory};
use crate::report::svg::{
    Anchor, Area, COLOURS, Canvas, GREY, Hand, Label, MARGIN, Picture, WIDTH, in_lines, line_width,
};

/// Height of a line of names, in units.
const NAME: f64 = 20.0;
/// Height of a line of facts, in units.
const FACT: f64 = 15.0;
/// Room inside a box, in units.
const PAD: f64 = 8.0;
/// Between boxes, in units.
const GAP: f64 = 10.0;
/// Between boxes of one group, and around them, in units.
const NEAR: f64 = 6.0;
/// Between what a wire joins from above to below, in units.
const DROP: f64 = 22.0;
/// Room of the cards behind the first SM, in units each way.
const CARDS: [f64; 2] = [6.0, 3.0];
/// The SM: its left and right edge, in units.
const SM: (f64, f64) = (MARGIN, WIDTH - MARGIN - CARDS[0]);
/// Where instructions stand, in units: the longest has twelve letters.
const INSTRUCTIONS: f64 = SM.0 + 10.0;
/// Left edge of an SM's boxes, in units.
const LEFT: f64 = INSTRUCTIONS + 100.0;
/// Right edge of an SM's boxes, in units.
const RIGHT: f64 = SM.1 - 32.0;
/// Where what misses goes down, in units.
const BUS: f64 = SM.1 - 14.0;
/// Inner edges of everything else, in units.
const WHOLE: (f64, f64) = (MARGIN, WIDTH - MARGIN);

/// Colours by kind, of those that people tell apart, and grey.
const fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Data => COLOURS[0],
        Kind::Constant => COLOURS[3],
        Kind::Shared => COLOURS[2],
        Kind::Path => GREY,
        Kind::Translation => COLOURS[5],
        Kind::L2 => COLOURS[4],
        Kind::Memory => COLOURS[1],
    }
}

/// The picture.
pub(super) fn picture(drawing: &Drawing) -> Picture {
    let mut canvas = Canvas::default();
    let y = canvas.heading(&drawing.title) + 8.0;
    let mut page = Page { canvas, y, bus: None };
    if drawing.simulated {
        page.quiet_line(crate::report::words::SIMULATED);
    }
    page.y += CARDS[0] + 2.0;
    page.sm(drawing);
    page.translation(&drawing.translation);
    let joined = page.l2(drawing);
    page.memories(&drawing.memories, joined);
    page.y += 6.0;
    page.quiet_line("? unknown · > lower bound · † from the driver · else measured");
    let height = page.y;
    page.canvas.finish(&drawing.title, &drawing.description(), height)
}

/// What is drawn so far, and how far down it reaches.
struct Page {
    canvas: Canvas,
    y: f64,
    /// Where the first miss joins what goes down at the right.
    bus: Option<f64>,
}

impl Page {
    fn quiet_line(&mut self, text: &str) {
        let at = (MARGIN, self.y + 10.0);
        self.canvas.labels(at, Anchor::Start, Hand::Quiet, &[Label::plain(text)], WIDTH - 2.0 * MARGIN);
        self.y += FACT + 1.0;
    }

    /// One SM before the others, with its loads.
    fn sm(&mut self, drawing: &Drawing) {
        let past = drawing.l2.is_some() || !drawing.memories.is_empty() || !drawing.translation.is_empty();
        let inside: f64 = drawing.sm.iter().map(|group| group_height(group) + GAP).sum();
        let top = self.y;
        let height = NAME + NEAR + inside + if past { NAME } else { 0.0 } + NEAR;
        let sm = Area { x: SM.0, y: top, width: SM.1 - SM.0, height };
        for card in CARDS.into_iter().chain([0.0]) {
            let name = if card == 0.0 { "sm" } else { "sm behind" };
            self.canvas.card(Area { x: sm.x + card, y: sm.y - card, ..sm }, name);
        }
        let count = match drawing.multiprocessors {
            0 => Label { text: "× ?".into(), hint: "the driver does not report the number of SMs".into() },
            count => Label { text: format!("× {count}"), hint: format!("{count} SMs (from the driver)") },
        };
        let middle = top + 16.0;
        let name = Label::plain("Streaming multiprocessor (SM)");
        self.canvas.labels((INSTRUCTIONS, middle), Anchor::Start, Hand::Bold, &[name], 250.0);
        self.canvas.labels((SM.1 - 10.0, middle), Anchor::End, Hand::Bold, &[count], 90.0);
        self.y += NAME + NEAR;
        for group in &drawing.sm {
            self.group(group, past);
            self.y += GAP;
        }
        if past {
            let y = self.y + NAME / 2.0;
            self.load("ld.global.cg", y, BUS);
            self.joins(y);
            self.y += NAME;
        }
        self.y = top + height;
    }

    fn group(&mut self, group: &Group, past: bool) {
        let top = self.y;
        match group {
            Group::Single(memory) => self.in_sm(memory, past && memory.kind != Kind::Shared),
            Group::Chain(all) => {
                for (i, memory) in all.iter().enumerate() {
                    if i > 0 {
                        let x = (LEFT + RIGHT) / 2.0;
                        self.canvas.wire(&[(x, self.y), (x, self.y + GAP)], "", true);
                        self.y += GAP;
                    }
                    self.in_sm(memory, past && i + 1 == all.len());
                }
            }
            Group::Divided(all, label) => {
                let area =
                    Area { x: LEFT - NEAR, y: top, width: RIGHT - LEFT + 2.0 * NEAR, height: group_height(group) };
                self.canvas.frame(area, colour(Kind::Path), "frame dashed", "divided");
                self.y += NEAR;
                for memory in all {
                    self.in_sm(memory, past && memory.kind != Kind::Shared);
                    self.y += NEAR;
                }
                let at = (LEFT, self.y + 8.0);
                self.canvas.labels(at, Anchor::Start, Hand::Quiet, std::slice::from_ref(label), RIGHT - LEFT);
                self.y += FACT;
            }
        }
    }

    /// A box of the SM with the loads that lead to it; `past` if what it lacks is asked for elsewhere.
    fn in_sm(&mut self, memory: &Memory, past: bool) {
        let area = Area { x: LEFT, y: self.y, width: RIGHT - LEFT, height: height(memory, RIGHT - LEFT) };
        let lanes = self.boxed(memory, area);
        for (lane, y) in memory.lanes.iter().zip(lanes) {
            if !lane.instruction.is_empty() {
                self.load(lane.instruction, y, LEFT);
            }
        }
        if past {
            let y = area.y + NAME / 2.0 + 2.0;
            self.canvas.wire(&[(RIGHT, y), (BUS, y)], "", false);
            self.joins(y);
        }
        self.y = area.bottom();
    }

    /// An instruction, and a wire from it to `x`; the head says that it has arrived.
    fn load(&mut self, instruction: &'static str, y: f64, x: f64) {
        let label = [Label::plain(instruction)];
        self.canvas.labels((INSTRUCTIONS, y + 4.0), Anchor::Start, Hand::Code, &label, LEFT - INSTRUCTIONS);
        let from = INSTRUCTIONS + line_width(&label, Hand::Code) + 5.0;
        self.canvas.wire(&[(from, y), (x, y)], "", x == LEFT);
    }

    fn joins(&mut self, y: f64) {
        self.bus.get_or_insert(y);
    }

    /// A box with its words; gives the heights at which its loads arrive.
    fn boxed(&mut self, memory: &Memory, area: Area) -> Vec<f64> {
        let class = if memory.kind == Kind::Path { "frame dashed" } else { "frame" };
        self.canvas.frame(area, colour(memory.kind), class, &memory.of.join(" "));
        let (left, right, room) = (area.x + PAD, area.right() - PAD, area.width - 2.0 * PAD);
        let mut y = area.y + NAME / 2.0 + 2.0;
        let first = y;
        let size = if size_apart(memory, room) { &[] } else { memory.size.as_slice() };
        let sized = line_width(size, Hand::Bold);
        self.canvas.labels(
            (left, y + 4.0),
            Anchor::Start,
            Hand::Bold,
            &[Label::plain(memory.name.as_str())],
            room - sized,
        );
        self.canvas.labels((right, y + 4.0), Anchor::End, Hand::Bold, size, room);
        y += 2.0 + (NAME - FACT) / 2.0;
        for line in facts(memory, room) {
            y += FACT;
            self.canvas.labels((left, y + 2.0), Anchor::Start, Hand::Small, &line, room);
        }
        if memory.lanes.len() < 2 {
            return vec![first; memory.lanes.len()];
        }
        y += FACT / 2.0;
        let mut arrive = Vec::new();
        for lane in &memory.lanes {
            self.canvas.wire(&[(area.x, y), (area.right(), y)], " rule", false);
            let middle = y + NAME / 2.0;
            arrive.push(middle);
            let name = [Label::plain(lane.name.as_str())];
            self.canvas.labels((left, middle + 4.0), Anchor::Start, Hand::Small, &name, room);
            self.canvas.labels((right, middle + 4.0), Anchor::End, Hand::Small, &lane.latency, room);
            y += NAME;
            for line in in_lines(&lane.facts, Hand::Quiet, room) {
                self.canvas.labels((left, y + 8.0), Anchor::Start, Hand::Quiet, &line, room);
                y += FACT;
            }
        }
        arrive
    }

    /// The levels of translation, side by side, beside what goes down.
    fn translation(&mut self, levels: &[Memory]) {
        if levels.is_empty() {
            return;
        }
        self.y += GAP;
        let width = RIGHT - MARGIN;
        let each = (width - 2.0 * PAD - DROP * (levels.len() - 1) as f64) / levels.len() as f64;
        let tallest = levels.iter().map(|level| height(level, each)).fold(0.0, f64::max);
        let area = Area { x: MARGIN, y: self.y, width, height: NAME + tallest + PAD };
        self.canvas.frame(area, colour(Kind::Translation), "frame dashed", "translation");
        let name = [Label::plain("TLBs: reach, entries × page, cost of a miss")];
        self.canvas.labels((MARGIN + PAD, self.y + 14.0), Anchor::Start, Hand::Bold, &name, width);
        for (i, level) in levels.iter().enumerate() {
            let x = MARGIN + PAD + (each + DROP) * i as f64;
            let area = Area { x, y: self.y + NAME, width: each, height: tallest };
            self.boxed(level, area);
            if i > 0 {
                let y = area.y + NAME / 2.0 + 2.0;
                self.canvas.wire(&[(x - DROP, y), (x, y)], "", true);
            }
        }
        if self.bus.is_some() {
            let y = area.y + NAME / 2.0;
            self.canvas.wire(&[(BUS, y), (area.right(), y)], " dashed", true);
        }
        self.y = area.bottom();
    }

    /// The L2 with its parts; gives whether there is one.
    fn l2(&mut self, drawing: &Drawing) -> bool {
        let Some((l2, parts)) = &drawing.l2 else { return false };
        self.y += DROP;
        self.down(self.y);
        let width = WHOLE.1 - WHOLE.0;
        let own = height(l2, width);
        let each = (width - 2.0 * PAD - DROP) / 2.0;
        let tallest = parts.iter().map(|part| height(part, each)).fold(0.0, f64::max);
        let area =
            Area { x: WHOLE.0, y: self.y, width, height: own + if parts.is_empty() { 0.0 } else { tallest + PAD } };
        self.boxed(l2, area);
        for (i, part) in parts.iter().enumerate() {
            let area =
                Area { x: WHOLE.0 + PAD + (each + DROP) * i as f64, y: area.y + own, width: each, height: tallest };
            self.boxed(part, area);
            if i > 0 {
                let y = area.y + NAME / 2.0 + 2.0;
                self.canvas.wire(&[(area.x - DROP, y), (area.x, y)], "", true);
            }
        }
        self.y = area.bottom();
        true
    }

    /// The way down at the right, to here.
    fn down(&mut self, y: f64) {
        if let Some(from) = self.bus {
            self.canvas.wire(&[(BUS, from), (BUS, y)], "", true);
        }
    }

    /// Memories side by side, below the L2 if there is one.
    fn memories(&mut self, memories: &[Memory], below_l2: bool) {
        if memories.is_empty() {
            return;
        }
        self.y += DROP;
        let count = memories.len() as f64;
        let each = (WHOLE.1 - WHOLE.0 - GAP * (count - 1.0)) / count;
        let tallest = memories.iter().map(|memory| height(memory, each)).fold(0.0, f64::max);
        for (i, memory) in memories.iter().enumerate() {
            let area = Area { x: WHOLE.0 + (each + GAP) * i as f64, y: self.y, width: each, height: tallest };
            self.boxed(memory, area);
            if below_l2 {
                let x = area.x + each / 2.0;
                self.canvas.wire(&[(x, self.y - DROP), (x, self.y)], if i > 0 { " dashed" } else { "" }, true);
            }
        }
        if !below_l2 {
            self.down(self.y);
        }
        self.y += tallest;
    }
}

/// Whether name and size are too wide for one line.
fn size_apart(memory: &Memory, room: f64) -> bool {
    let name = [Label::plain(memory.name.as_str())];
    line_width(&name, Hand::Bold) + line_width(memory.size.as_slice(), Hand::Bold) + PAD > room
}

/// What is known of a box, in lines of this width: the latency, if one load leads to it, has its own where not all fit on one.
fn facts(memory: &Memory, room: f64) -> Vec<Vec<Label>> {
    let size = if size_apart(memory, room) { memory.size.as_slice() } else { &[] };
    let latency = match memory.lanes.as_slice() {
        [lane] => lane.latency.as_slice(),
        _ => &[],
    };
    let all = in_lines(&[size, latency, &memory.facts].concat(), Hand::Small, room);
    if all.len() < 2 {
        return all;
    }
    [size, latency, &memory.facts].into_iter().flat_map(|part| in_lines(part, Hand::Small, room)).collect()
}

/// Height of a box of this width, in units.
fn height(memory: &Memory, width: f64) -> f64 {
    let room = width - 2.0 * PAD;
    let own = NAME + 4.0 + facts(memory, room).len() as f64 * FACT;
    let lane = |lane: &Lane| NAME + in_lines(&lane.facts, Hand::Quiet, room).len() as f64 * FACT;
    match memory.lanes.as_slice() {
        [] | [_] => own,
        several => own + several.iter().map(lane).sum::<f64>() + 2.0,
    }
}

fn group_height(group: &Group) -> f64 {
    let all = group.memories();
    let boxes: f64 = all.iter().map(|memory| height(memory, RIGHT - LEFT)).sum();
    let count = all.len() as f64;
    match group {
        Group::Single(_) => boxes,
        Group::Chain(_) => boxes + GAP * (count - 1.0),
        Group::Divided(..) => boxes + NEAR * (count + 1.0) + FACT,
    }
}

//! How many threads wait no longer than fewer, and how many wait longer again (Fuchs et al., section 3.4.3, points 3 and 4).

use super::Answer;
use super::points::said;
use strata_model::characterization::{Line, Point};
use strata_model::topology::Finding;

/// A step from one number of threads to the next is flat if it adds no more than this share of what all threads before it added.
const FLAT: f64 = 0.1;

/// What doubling the threads does to the time of a read, at one distance.
struct Course<'p> {
    /// Thread counts, ascending, each with its point.
    points: Vec<(u32, &'p Point)>,
}

impl<'p> Course<'p> {
    /// The course at a distance, from lines of one thread count each.
    fn of(threads: &[u32], lines: &'p [Line], distance: f64) -> Self {
        let points = threads.iter().zip(lines).filter_map(|(&threads, line)| Some((threads, line.at(distance)?)));
        Course { points: points.collect() }
    }

    /// The place from which on more threads take no longer, if the time grows before it.
    fn plateau(&self) -> Option<usize> {
        let (_, first) = self.points.first()?;
        let grown = |point: &Point| point.value - first.value;
        (1..self.points.len().saturating_sub(1)).find(|&i| {
            let (point, next) = (self.points[i].1, self.points[i + 1].1);
            point.low > first.high && next.value - point.value <= FLAT * grown(point)
        })
    }

    /// The first place behind that of `threads` at which the time has grown again: by more than [`FLAT`] of `added`, which is
    /// what the threads up to the plateau added.
    fn rise(&self, threads: u32, added: f64) -> Option<usize> {
        let level = self.points.iter().position(|&(count, _)| count == threads)?;
        let point = self.points[level].1;
        (level + 1..self.points.len()).find(|&i| {
            let later = self.points[i].1;
            later.low > point.high && later.value - point.value > FLAT * added
        })
    }

    fn told(&self, places: impl IntoIterator<Item = usize>) -> String {
        let at = |i: usize| self.points.get(i).map(|(threads, point)| format!("{} with {threads}", said(point.value)));
        places.into_iter().filter_map(at).collect::<Vec<_>>().join(", ")
    }

    /// A number of threads as a finding: that of a place, and more than that of the place before.
    fn finding(&self, place: usize, method: &str) -> Finding {
        let (threads, point) = self.points[place];
        let before = self.points[place - 1].0;
        Finding::measured(u64::from(threads), method)
            .range(f64::from(before + 1), f64::from(threads))
            .from_experiments(point.experiments.iter().copied())
            .any()
    }
}

/// Adds both findings. `lines` are reads from the caches, a line for each of `threads`; each thread reads `own` bytes.
pub(super) fn infer(answer: &mut Answer, threads: &[u32], lines: &[Line], own: u64) {
    let (flat, again) = ("plateau_threads", "rise_threads");
    let mut distances: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
    distances.sort_unstable_by(f64::total_cmp);
    distances.dedup();
    let courses: Vec<(f64, Course<'_>)> = distances.iter().map(|&d| (d, Course::of(threads, lines, d))).collect();
    let plateaus: Vec<(f64, &Course<'_>, usize)> =
        courses.iter().filter_map(|(d, course)| Some((*d, course, course.plateau()?))).collect();
    // Loads that miss have a plateau of their own at the widest distances; most distances show that of the hits.
    let count = |place: &(f64, &Course<'_>, usize)| place.1.points[place.2].0;
    let votes = |threads: u32| plateaus.iter().filter(|other| count(other) == threads).count();
    let most = plateaus.iter().map(count).max_by_key(|&threads| (votes(threads), std::cmp::Reverse(threads)));
    let widest = plateaus.iter().rev().find(|place| Some(count(place)) == most).copied();
    let Some((distance, course, place)) = widest else {
        let why = "at no distance does the time of a read grow with the threads and then stay";
        answer.finding(flat, Finding::unknown(why));
        answer.finding(again, Finding::unknown(why));
        return;
    };
    let (count, point) = course.points[place];
    let added = point.value - course.points[0].1.value;
    let method = "fewest threads from which on twice as many take no longer for a read from the caches";
    let cycles = course.told([0, place - 1, place, place + 1]);
    answer
        .finding(flat, course.finding(place, method).note(format!("{distance} B apart: {cycles} threads, in cycles")));
    let rises: Vec<(f64, &Course<'_>, usize)> =
        courses.iter().filter_map(|(d, course)| Some((*d, course, course.rise(count, added)?))).collect();
    let (Some((least, ..)), Some((far, course, place))) = (rises.first(), rises.last()) else {
        let most = threads.last().copied().unwrap_or(count);
        answer.finding(again, Finding::unknown(format!("up to {most} threads take no longer, at any distance")));
        return;
    };
    let (many, _) = course.points[*place];
    let touched = (far * f64::from(many - 1) + own as f64) / 1024.0;
    let method = "fewest threads behind the plateau that take longer again: they read more than the caches keep, or faster \
                  than the caches deliver";
    let cycles = course.told([place - 1, *place]);
    answer.finding(
        again,
        course.finding(*place, method).note(format!(
            "{far} B apart, where they read {touched:.0} KiB in all: {cycles} threads, in cycles; threads at least {least} B \
             apart show it"
        )),
    );
    answer.means(format!(
        "From {count} threads on, more threads wait no longer for reads from the caches; {many} threads {far} B apart do."
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of 1, 2, 4 and so on threads with two distances, 4 and 8 B, from the times of each distance.
    fn lines(near: &[f64], far: &[f64]) -> (Vec<u32>, Vec<Line>) {
        let point =
            |x: f64, value: f64| Point { x, value, low: value - 0.1, high: value + 0.1, ns: None, experiments: vec![] };
        let of = |(&near, &far): (&f64, &f64)| Line {
            label: String::new(),
            points: vec![point(4.0, near), point(8.0, far)],
            reason: None,
            failed: false,
        };
        ((0..near.len()).map(|i| 1 << i).collect(), near.iter().zip(far).map(of).collect())
    }

    fn found(near: &[f64], far: &[f64]) -> [Finding; 2] {
        let (threads, lines) = lines(near, far);
        let mut answer = Answer::default();
        infer(&mut answer, &threads, &lines, 4096);
        ["plateau_threads", "rise_threads"].map(|name| answer.findings[name].clone())
    }

    #[test]
    fn a_plateau_and_a_rise_are_found_with_what_lies_between_the_counts() {
        let [plateau, rise] = found(&[100.0; 7], &[100.0, 101.0, 103.0, 107.0, 107.0, 107.2, 150.0]);
        assert_eq!((plateau.number(), plateau.low, plateau.high), (Some(8.0), Some(5.0), Some(8.0)));
        assert_eq!((rise.number(), rise.low, rise.high), (Some(64.0), Some(33.0), Some(64.0)));
    }

    /// Where the widest distance never stays, a narrower one shows the plateau, and the widest one the rise.
    #[test]
    fn a_plateau_may_show_at_a_narrower_distance_only() {
        let [plateau, rise] = found(&[100.0, 102.0, 106.0, 106.0, 106.0], &[100.0, 102.0, 106.0, 300.0, 600.0]);
        assert_eq!((plateau.number(), rise.number()), (Some(4.0), Some(8.0)));
        assert!(rise.note.unwrap().contains("at least 8 B"));
    }

    #[test]
    fn without_a_plateau_both_are_unknown_and_say_why() {
        for times in [[100.0; 5], [100.0, 200.0, 400.0, 800.0, 1600.0]] {
            let [plateau, rise] = found(&times, &times);
            assert!(!plateau.is_known() && plateau.reason == rise.reason, "{plateau:?}");
        }
        let [plateau, rise] = found(&[100.0; 4], &[100.0, 150.0, 150.0, 150.0]);
        assert_eq!((plateau.number(), rise.number()), (Some(2.0), None));
    }
}

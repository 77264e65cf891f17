//! Where things stand on the pages of HTML reports, and whether they are seen: the first screen, the bar, a telephone, paper.

use anyhow::{Context, Result, ensure};
use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::browser::Browser;

/// What paper of A4 leaves between margins of 12 mm, in CSS pixels.
pub const PAPER: (u32, u32) = (703, 1032);
/// Pages of paper that a report stays below.
const MOST_PAGES: usize = 15;

/// Colours of what is written and drawn against the page, by name; the least contrast of text and of lines (WCAG 2.1, 1.4.3 and
/// 1.4.11).
const CONTRASTS: &str = r"(() => {
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const luminance = (css) => {
        const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
        canvas.fillStyle = css;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => linear(part / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const style = getComputedStyle(document.documentElement);
    const page = luminance(style.getPropertyValue('--page'));
    const contrast = (name) => {
        const own = luminance(style.getPropertyValue(name));
        return Math.max(own, page) / Math.min(own, page);
    };
    const words = ['--text', '--quiet', '--link', '--alarm'].filter((name) => contrast(name) < 4.5);
    const lines = Array.from({ length: 6 }, (_, i) => `--series-${i}`).filter((name) => contrast(name) < 3);
    const ink = [...document.querySelectorAll('.strata-picture')].filter((picture) => getComputedStyle(picture).fill !== getComputedStyle(document.body).color);
    return [...words, ...lines, ...ink.map((picture) => picture.querySelector('title').textContent)];
})()";

/// Elements that reach beyond the page's right edge, but for those in something that scrolls.
const BEYOND: &str = r"[...document.querySelectorAll('body *')].filter((e) =>
    !e.closest('.scroll, .places, .uplot, svg, #found') && e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 0.5
).map((e) => e.outerHTML.slice(0, 80))";

/// Words of keys that stand on two lines.
const BROKEN: &str = r"(() => {
    const range = document.createRange();
    const broken = [];
    for (const code of document.querySelectorAll('code')) {
        if (!code.checkVisibility()) continue;
        for (const text of code.childNodes) {
            if (text.nodeType !== Node.TEXT_NODE || /\s/.test(text.data.trim())) continue;
            range.selectNodeContents(text);
            const lines = new Set([...range.getClientRects()].filter((r) => r.width > 0).map((r) => Math.round(r.top)));
            if (lines.size > 1) broken.push(code.textContent);
        }
    }
    return broken;
})()";

/// What cannot be scrolled into view, or gives no sign that it could be.
const UNREACHED: &str = r"[...document.querySelectorAll('.scroll')].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).flatMap((e) => {
    const amiss = [];
    if (!getComputedStyle(e).backgroundImage.includes('gradient')) amiss.push(`${e.ariaLabel}: no shadow`);
    if (e.tabIndex !== 0) amiss.push(`${e.ariaLabel}: not for the keyboard`);
    const last = e.querySelector('tr').lastElementChild;
    e.scrollLeft = e.scrollWidth;
    if (last.getBoundingClientRect().right > e.getBoundingClientRect().right + 1) amiss.push(`${e.ariaLabel}: the last column stays out of view`);
    e.scrollLeft = 0;
    return amiss;
})";

/// Lines of one plot that a key does not tell apart by their markers alone, or by their colours and dashes.
const ALIKE: &str = r"[...document.querySelectorAll('.key')].filter((key) => key.querySelector('.sample')).filter((key) => {
    const samples = [...key.querySelectorAll('button')];
    const marker = (b) => `${b.querySelector('.sample').lastElementChild.getAttribute('d')} ${b.querySelector('.sample').lastElementChild.getAttribute('class')}`;
    const line = (b) => `${b.style.getPropertyValue('--colour')} ${b.querySelector('[stroke-dasharray]')?.getAttribute('stroke-dasharray')}`;
    const count = (of) => new Set(samples.map(of)).size;
    return samples.length <= 12 && (count(marker) < samples.length || count(line) < samples.length);
}).map((key) => key.textContent)";

fn none(browser: &mut Browser, what: &str, expression: &str) -> Result<()> {
    let found = browser.evaluate(expression)?;
    ensure!(found == json!([]), "{what}: {found}");
    Ok(())
}

/// The tables of key numbers: of all columns, or of what was asked for by name.
const NUMBERS: &str = ".summary, .named";

/// Findings of memories, and not of the die, that no figure shows.
const IN_NO_FIGURE: &str =
    "[...document.querySelectorAll('#all-findings tbody tr')].map((row) => row.textContent.trim())
    .filter((text) => !text.startsWith('Die') && !text.includes('in its figure'))";

/// The drawing beside the key numbers and the plot of all paths, or the table of costs, within a window of this height.
pub fn first_screen(browser: &mut Browser, height: u32) -> Result<()> {
    let edges = "(selector) => {
        const e = document.querySelector(selector);
        if (!e) return null;
        const { left, top, right, bottom } = e.getBoundingClientRect();
        return { left, top, right, bottom };
    }";
    let of = |browser: &mut Browser, selector: &str| browser.evaluate(&format!("({edges})({selector:?})"));
    let edge = |place: &Value, key: &str| place[key].as_f64().context("nothing there");
    let drawing = of(browser, ".diagram > svg")?;
    if drawing.is_null() {
        let table = of(browser, "#costs tbody tr:nth-child(3)")?;
        // A run of few parts has few costs to show.
        ensure!(table.is_null() || edge(&table, "bottom")? <= f64::from(height), "the first costs are out of view");
        return Ok(());
    }
    let numbers = of(browser, NUMBERS)?;
    if numbers.is_null() {
        // A run of maps alone has no key numbers. Whatever else is found of a memory must be among them.
        none(browser, "no key numbers", IN_NO_FIGURE)?;
    } else {
        ensure!(edge(&drawing, "right")? <= edge(&numbers, "left")?, "the drawing is not beside the key numbers");
    }
    for (name, selector) in [("drawing", ".diagram > svg"), ("key numbers", NUMBERS), ("overview", ".overview canvas")]
    {
        let place = of(browser, selector)?;
        // A run of few elements has no curve to show, and one of maps alone no numbers.
        if place.is_null() && name != "drawing" {
            continue;
        }
        let (top, bottom) = (edge(&place, "top")?, edge(&place, "bottom")?);
        ensure!(top >= 0.0 && bottom <= f64::from(height), "{name}: from {top} to {bottom} of {height}");
    }
    Ok(())
}

/// The bar stays, its search finds and goes there by the keyboard, and explanations are one step away.
pub fn bar(browser: &mut Browser) -> Result<()> {
    browser.evaluate("scrollTo(0, document.documentElement.scrollHeight)")?;
    let top = browser.evaluate("document.querySelector('.bar').getBoundingClientRect().top")?;
    ensure!(top == json!(0), "after scrolling the bar is at {top}");
    let term = browser.evaluate("document.querySelector('dl [data-term]')?.dataset.term ?? null")?;
    if let Some(term) = term.as_str() {
        browser.evaluate(&format!(
            "(() => {{ search.focus(); search.value = {term:?}; search.dispatchEvent(new Event('input')); }})()"
        ))?;
        let names = "[...found.querySelectorAll('a')].map((link) => link.textContent)";
        let names = browser.evaluate(names)?;
        let first = names[0].as_str().unwrap_or_default();
        ensure!(first.contains(term), "the search for {term:?} finds {names}");
        browser.enter()?;
        browser.settle()?;
        let view = browser.evaluate(
            "(() => {
                const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
                const bar = document.querySelector('.bar').getBoundingClientRect().bottom;
                const { top } = target.getBoundingClientRect();
                return target.textContent.trim() !== '' && top >= bar - 1 && top < innerHeight && found.hidden;
            })()",
        )?;
        ensure!(view == true, "the search does not go to {term:?}");
    }
    browser.evaluate("(search.value = 'qqqqq', search.dispatchEvent(new Event('input')))")?;
    let nothing = browser.evaluate("found.textContent")?;
    ensure!(nothing == "Nothing has these words.", "a search for nothing says {nothing}");
    browser.evaluate("(search.value = '', search.dispatchEvent(new Event('input')), history.replaceState(null, '', location.pathname), scrollTo(0, 0))")?;
    none(
        browser,
        "links that lead nowhere",
        "[...document.querySelectorAll('a[href^=\"#\"]')].filter((link) => !document.getElementById(decodeURIComponent(link.hash.slice(1)))).map((link) => link.hash)",
    )
}

/// What a page must keep to before anything is opened.
pub fn order(browser: &mut Browser) -> Result<()> {
    none(
        browser,
        "evidence that is not folded",
        "[...document.querySelectorAll('details[open]')].map((d) => d.textContent.slice(0, 40))",
    )?;
    none(
        browser,
        "reasons that stand twice in a section",
        "[...document.querySelectorAll('section')].flatMap((section) => {
            const reasons = [...section.querySelectorAll('.unknown dd > small')].map((reason) => reason.textContent);
            return reasons.filter((reason, i) => reasons.indexOf(reason) !== i);
        })",
    )?;
    none(browser, "keys broken within a word", BROKEN)?;
    none(browser, "lines that are not told apart", ALIKE)
}

/// Texts and lines stand out in the theme that is shown.
pub fn contrast(browser: &mut Browser) -> Result<()> {
    none(browser, "too little contrast", CONTRASTS)
}

/// On a telephone everything is within the page or can be scrolled to.
pub fn narrow(browser: &mut Browser) -> Result<()> {
    none(browser, "wider than the page", BEYOND)?;
    none(browser, "columns out of reach", UNREACHED)?;
    none(browser, "keys broken within a word", BROKEN)?;
    let hints = "[...document.querySelectorAll('.more')].filter((hint) => !hint.checkVisibility()).map((hint) => hint.textContent)";
    none(browser, "hints that are not seen", hints)
}

/// On paper: the summary whole on the first page, nothing that scrolls, and few pages. Gives the document.
pub fn paper(browser: &mut Browser) -> Result<Vec<u8>> {
    let bottom = browser.evaluate("document.querySelector('#overview')?.getBoundingClientRect().bottom ?? 0")?;
    let bottom = bottom.as_f64().context("no number")?;
    ensure!(bottom <= f64::from(PAPER.1), "the summary ends at {bottom} of a page of {}", PAPER.1);
    let scrolling = "[...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && /auto|scroll/.test(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth + 1).map((e) => e.outerHTML.slice(0, 80))";
    none(browser, "it scrolls on paper", scrolling)?;
    let answer = browser.call("Page.printToPDF", json!({"preferCSSPageSize": true, "printBackground": false}))?;
    let document = BASE64.decode(answer["data"].as_str().context("no document")?.as_bytes())?;
    let marker = b"/Type /Page";
    let pages =
        document.windows(marker.len() + 1).filter(|at| at.starts_with(marker) && at[marker.len()] != b's').count();
    ensure!((1..MOST_PAGES).contains(&pages), "{pages} pages of paper, not fewer than {MOST_PAGES}");
    Ok(document)
}

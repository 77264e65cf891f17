//! Whether the HTML reports do in a browser what they say: drawn without errors or requests, zoomed, sorted, on a telephone, in
//! the dark, on paper.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser_layout as layout;

/// A narrow telephone, in CSS pixels.
const PHONE: (u32, u32) = (390, 844);
/// The first screen of a small desk, in CSS pixels.
const DESK: (u32, u32) = (1280, 800);

/// Opens every evidence in turn; the titles of plots whose field has no pixel of a series' colour. The ink of axes and marks is
/// grey in either theme, so that colour tells data from an empty field.
const UNDRAWN: &str = r"(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const undrawn = [];
    const check = (place) => {
        const canvas = place.querySelector('canvas');
        if (!canvas || !place.uplot) return undrawn.push(place.dataset.plots + ': no canvas');
        const { left, top, width, height } = place.uplot.bbox;
        const pixels = canvas.getContext('2d').getImageData(left, top, width, height).data;
        for (let i = 0; i < pixels.length; i += 4) {
            const [r, g, b, a] = pixels.subarray(i, i + 4);
            if (a > 0 && Math.max(r, g, b) - Math.min(r, g, b) > 40) return;
        }
        undrawn.push(place.querySelector('b').textContent);
    };
    document.querySelectorAll('figure .plot').forEach((place) => place.closest('.evidence') || check(place));
    for (const details of document.querySelectorAll('details.evidence')) {
        details.open = true;
        await frame();
        await frame();
        details.querySelectorAll('.plot').forEach(check);
        details.open = false;
    }
    return undrawn;
})()";
/// The data-values of the summary's second column, from above; null what has none.
const SIZES: &str = "[...document.querySelectorAll('.summary tbody tr')].map((row) => row.cells[1].dataset.value ?? null).map((x) => x && Number(x))";
/// A place of a plot on the screen, and what its x axis spans.
const PLOT: &str = r"(() => {
    const { left, top, width, height } = place.uplot.over.getBoundingClientRect();
    const { min, max } = place.uplot.scales.x;
    return { left, top, width, height, span: max - min };
})()";

/// Checks each page; with `screenshots`, pictures of them go there.
pub fn check(program: &str, pages: &[PathBuf], screenshots: Option<&Path>) -> Result<()> {
    let mut browser = Browser::start(program)?;
    for page in pages {
        let page = page.canonicalize().with_context(|| format!("`{}` cannot be opened", page.display()))?;
        let count = check_page(&mut browser, &page, screenshots).with_context(|| format!("{}", page.display()))?;
        println!("{}: {count} plots, all well", page.display());
    }
    Ok(())
}

/// Checks one page; how many plots it has.
fn check_page(browser: &mut Browser, page: &Path, screenshots: Option<&Path>) -> Result<u64> {
    browser.window(DESK.0, DESK.1, false)?;
    browser.media("screen", "light")?;
    browser.open(page)?;
    browser.settle()?;
    let count = browser.evaluate("document.querySelectorAll('.plot').length")?.as_u64().unwrap_or(0);
    shot(browser, page, screenshots, "light")?;
    layout::first_screen(browser, DESK.1)?;
    layout::order(browser)?;
    layout::bar(browser)?;
    layout::contrast(browser)?;
    let undrawn = browser.evaluate(UNDRAWN)?;
    ensure!(undrawn == json!([]), "plots without data on them: {undrawn}");
    if browser.evaluate("document.querySelectorAll('.summary').length")? == 1 {
        sorted(browser)?;
        filtered(browser)?;
    }
    if count > 0 {
        looked_closer(browser)?;
    }
    themes(browser)?;
    layout::contrast(browser)?;
    shot(browser, page, screenshots, "dark")?;
    chapter(browser, page, screenshots)?;
    browser.window(PHONE.0, PHONE.1, true)?;
    browser.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")?;
    browser.settle()?;
    let wide = browser.evaluate("document.documentElement.scrollWidth")?.as_u64().unwrap_or(u64::MAX);
    ensure!(wide <= u64::from(PHONE.0), "at {} pixels the page is {wide} wide", PHONE.0);
    layout::narrow(browser)?;
    browser.evaluate("(scrollTo(0, 0), document.querySelector('.more')?.scrollIntoView({ block: 'center' }))")?;
    browser.settle()?;
    shot(browser, page, screenshots, "phone-table")?;
    browser.evaluate("document.querySelector('.plot')?.scrollIntoView({ block: 'center' })")?;
    browser.settle()?;
    shot(browser, page, screenshots, "phone")?;
    on_paper(browser, page, screenshots)?;
    quiet(browser, page)?;
    Ok(count)
}

/// By the pointer in one direction, by the keyboard in the other.
fn sorted(browser: &mut Browser) -> Result<()> {
    let button = "document.querySelector('.summary thead th:nth-child(2) button')";
    for ascending in [true, false] {
        if ascending {
            browser.evaluate(&format!("{button}.click()"))?;
        } else {
            browser.evaluate(&format!("{button}.focus()"))?;
            browser.enter()?;
        }
        let sizes = browser.evaluate(SIZES)?;
        let sizes: Vec<Option<f64>> = sizes.as_array().context("no rows")?.iter().map(Value::as_f64).collect();
        let known: Vec<f64> = sizes.iter().flatten().copied().collect();
        ensure!(sizes[..known.len()].iter().all(Option::is_some), "unknown sizes stand before known ones: {sizes:?}");
        let order = known.is_sorted_by(|a, b| if ascending { a <= b } else { a >= b });
        ensure!(order, "not sorted (ascending: {ascending}): {sizes:?}");
        let said = browser.evaluate(&format!("{button}.parentElement.ariaSort"))?;
        ensure!(said == if ascending { "ascending" } else { "descending" }, "aria-sort says {said}");
    }
    Ok(())
}

fn filtered(browser: &mut Browser) -> Result<()> {
    let left = browser.evaluate(
        "(() => {
            const input = document.querySelector('.filter');
            const type = (text) => ((input.value = text), input.dispatchEvent(new Event('input')));
            const rows = [...document.querySelectorAll('#all-findings tbody tr')];
            // Every discovery has one of them in some rows and not in all, of whatever element.
            const has = (word) => (row) => row.textContent.includes(word);
            const word = ['latency', 'size', 'hints', 'atomic', 'hash'].find((word) => rows.some(has(word)) && !rows.every(has(word)));
            type(word);
            const left = rows.filter((row) => !row.hidden);
            const all = left.every((row) => row.textContent.includes(word));
            type('');
            return left.length > 0 && left.length < rows.length && all;
        })()",
    )?;
    ensure!(left == true, "the filter keeps rows without its word, all, or none");
    Ok(())
}

/// Values under the pointer; zoom by dragging, and back.
fn looked_closer(browser: &mut Browser) -> Result<()> {
    browser.evaluate(
        "globalThis.place = document.querySelector('figure .plot:not(.evidence .plot)') ?? document.querySelector('.plot');
         for (let d = place.closest('details'); d; d = null) d.open = true;",
    )?;
    browser.settle()?;
    browser.evaluate("place.scrollIntoView({ block: 'center' })")?;
    browser.settle()?;
    let plot = browser.evaluate(PLOT)?;
    let number = |key: &str| plot[key].as_f64().unwrap_or(0.0);
    let at = |x: f64, y: f64| (number("left") + number("width") * x, number("top") + number("height") * y);
    browser.pointer(&[at(0.4, 0.5), at(0.5, 0.5)], false)?;
    browser.settle()?;
    let tip = browser.evaluate("place.querySelector('.tip').hidden ? '' : place.querySelector('.tip').innerText")?;
    let tip = tip.as_str().unwrap_or_default();
    ensure!(tip.lines().count() > 1 && tip.chars().any(|c| c.is_ascii_digit()), "no value under the pointer: {tip:?}");
    browser.pointer(&[at(0.25, 0.5), at(0.5, 0.5), at(0.75, 0.5)], true)?;
    browser.settle()?;
    let zoomed = browser.evaluate(PLOT)?["span"].as_f64().unwrap_or(f64::MAX);
    ensure!(zoomed < number("span") * 0.9, "dragging left the x axis at {zoomed} of {}", number("span"));
    browser.evaluate("place.querySelector('.reset').click()")?;
    browser.settle()?;
    let whole = browser.evaluate(PLOT)?["span"].as_f64().unwrap_or(0.0);
    ensure!((whole - number("span")).abs() <= whole * 1e-9, "the button leaves {whole} of {}", number("span"));
    Ok(())
}

/// Dark is dark; the browser is left so.
fn themes(browser: &mut Browser) -> Result<()> {
    let background = "getComputedStyle(document.documentElement).backgroundColor";
    let light = browser.evaluate(background)?;
    browser.media("screen", "dark")?;
    browser.settle()?;
    let dark = browser.evaluate(background)?;
    ensure!(light != dark, "the background is {light} in either theme");
    Ok(())
}

/// On paper each figure is its picture, whatever the reader opened or looked at before. Leaves the page on the screen.
fn on_paper(browser: &mut Browser, page: &Path, screenshots: Option<&Path>) -> Result<()> {
    browser.window(layout::PAPER.0, layout::PAPER.1, false)?;
    browser.media("print", "light")?;
    browser.settle()?;
    let amiss = browser.evaluate(
        "[...document.querySelectorAll('figure > svg')].filter((svg) => getComputedStyle(svg).display === 'none').length +
         [...document.querySelectorAll('.plot')].filter((plot) => plot.checkVisibility()).length",
    )?;
    ensure!(amiss == 0, "on paper {amiss} pictures are missing or plots are there");
    let document = layout::paper(browser)?;
    if let Some(dir) = screenshots {
        let name = page.file_stem().unwrap_or_default().to_string_lossy();
        std::fs::write(dir.join(format!("{name}.pdf")), document)?;
    }
    browser.media("screen", "light")
}

/// Pictures of what follows the first screen.
fn chapter(browser: &mut Browser, page: &Path, screenshots: Option<&Path>) -> Result<()> {
    browser.media("screen", "light")?;
    browser.evaluate("document.querySelector('section:nth-of-type(2)')?.scrollIntoView()")?;
    browser.settle()?;
    shot(browser, page, screenshots, "chapter")
}

/// Nothing was asked of anywhere, and the console is empty.
fn quiet(browser: &Browser, page: &Path) -> Result<()> {
    let own = format!("file://{}", page.display());
    for event in browser.events() {
        let what = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let url = what["request"]["url"].as_str().unwrap_or_default();
                ensure!(url.split('#').next() == Some(&own), "the page asks for {url}");
            }
            "Runtime.exceptionThrown" => bail!("an exception: {}", what["exceptionDetails"]),
            "Runtime.consoleAPICalled" if what["type"] == "error" => bail!("an error in the console: {}", what["args"]),
            "Log.entryAdded" if what["entry"]["level"] == "error" => bail!("an error: {}", what["entry"]["text"]),
            _ => {}
        }
    }
    Ok(())
}

/// A picture of the window, for eyes.
fn shot(browser: &mut Browser, page: &Path, screenshots: Option<&Path>, name: &str) -> Result<()> {
    let Some(dir) = screenshots else { return Ok(()) };
    let name = format!("{}-{name}", page.file_stem().unwrap_or_default().to_string_lossy());
    let answer = browser.call("Page.captureScreenshot", json!({"format": "png"}))?;
    let data = answer["data"].as_str().context("no screenshot")?;
    std::fs::create_dir_all(dir)?;
    std::fs::write(dir.join(format!("{name}.png")), BASE64.decode(data.as_bytes())?)?;
    Ok(())
}
